//! The kinds that a pass may read, and under which names a Gslb may refer to them.

/// A kind of object, in the version that it is read in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectKind {
    /// Ingress.
    Ingress,
    /// Service.
    Service,
    /// Istio VirtualService.
    VirtualService,
    /// Gateway API HTTPRoute.
    HttpRoute,
    /// Gateway API GRPCRoute.
    GrpcRoute,
    /// Gateway API TCPRoute in version v1.
    TcpRouteV1,
    /// Gateway API TCPRoute in version v1alpha2.
    TcpRouteV1Alpha2,
    /// Gateway API UDPRoute in version v1.
    UdpRouteV1,
    /// Gateway API UDPRoute in version v1alpha2.
    UdpRouteV1Alpha2,
    /// Gateway API TLSRoute in version v1.
    TlsRouteV1,
    /// Gateway API TLSRoute in version v1alpha2.
    TlsRouteV1Alpha2,
    /// Gateway API TLSRoute in version v1alpha3.
    TlsRouteV1Alpha3,
    /// Gateway API Gateway: where routes have their addresses from.
    Gateway,
    /// Istio Gateway: where a VirtualService has its addresses from.
    IstioGateway,
    /// Namespace: what its Gslbs may do.
    Namespace,
}

const GATEWAY_API: &str = "gateway.networking.k8s.io";
const ISTIO: &str = "networking.istio.io";

/// `kind` and `apiVersion` that a Gslb may name, exactly as written: contract §2.4, and TCPRoute and UDPRoute in v1, the
/// only version of theirs that newer releases of the Gateway API serve.
const ACCEPTED: [(&str, &str, ObjectKind); 13] = [
    ("Ingress", "networking.k8s.io/v1", ObjectKind::Ingress),
    ("Service", "v1", ObjectKind::Service),
    ("VirtualService", "networking.istio.io/v1", ObjectKind::VirtualService),
    // Both versions have the same fields, and v1 is served wherever v1beta1 is.
    ("VirtualService", "networking.istio.io/v1beta1", ObjectKind::VirtualService),
    ("HTTPRoute", "gateway.networking.k8s.io/v1", ObjectKind::HttpRoute),
    ("GRPCRoute", "gateway.networking.k8s.io/v1", ObjectKind::GrpcRoute),
    ("TCPRoute", "gateway.networking.k8s.io/v1", ObjectKind::TcpRouteV1),
    ("TCPRoute", "gateway.networking.k8s.io/v1alpha2", ObjectKind::TcpRouteV1Alpha2),
    ("UDPRoute", "gateway.networking.k8s.io/v1", ObjectKind::UdpRouteV1),
    ("UDPRoute", "gateway.networking.k8s.io/v1alpha2", ObjectKind::UdpRouteV1Alpha2),
    ("TLSRoute", "gateway.networking.k8s.io/v1", ObjectKind::TlsRouteV1),
    ("TLSRoute", "gateway.networking.k8s.io/v1alpha2", ObjectKind::TlsRouteV1Alpha2),
    ("TLSRoute", "gateway.networking.k8s.io/v1alpha3", ObjectKind::TlsRouteV1Alpha3),
];

impl ObjectKind {
    /// The kind that a reference names.
    pub fn accepted(kind: &str, api_version: &str) -> Option<Self> {
        ACCEPTED.into_iter().find(|row| (row.0, row.1) == (kind, api_version)).map(|row| row.2)
    }

    /// What a reference may say instead: the versions of its kind, or all kinds.
    pub(super) fn alternatives(kind: &str) -> String {
        let row = |row: &(&str, &str, Self)| format!("{} of {}", row.0, row.1);
        let same: Vec<String> = ACCEPTED.iter().filter(|row| row.0 == kind).map(row).collect();
        if same.is_empty() {
            ACCEPTED.iter().map(row).collect::<Vec<_>>().join(", ")
        } else {
            same.join(" or ")
        }
    }

    /// API group, empty for the core group.
    pub fn group(self) -> &'static str {
        self.names().0
    }

    /// API version without the group.
    pub fn version(self) -> &'static str {
        self.names().1
    }

    /// `kind` of its objects.
    pub fn kind(self) -> &'static str {
        self.names().2
    }

    /// Group and version as in `apiVersion`.
    pub fn api_version(self) -> String {
        let (group, version, _, _) = self.names();
        if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
    }

    /// The name of the resource in URLs and permissions.
    pub fn plural(self) -> &'static str {
        self.names().3
    }

    /// `<plural>.<group>`: the name in permissions and of the definition.
    pub fn resource(self) -> String {
        let (group, _, _, plural) = self.names();
        if group.is_empty() { plural.to_owned() } else { format!("{plural}.{group}") }
    }

    /// Whether its objects name no host, so that an annotation of the Gslb does.
    pub fn is_without_hosts(self) -> bool {
        let route = matches!(self.kind(), "TCPRoute" | "UDPRoute");
        route || self == Self::Service
    }

    fn names(self) -> (&'static str, &'static str, &'static str, &'static str) {
        match self {
            Self::Ingress => ("networking.k8s.io", "v1", "Ingress", "ingresses"),
            Self::Service => ("", "v1", "Service", "services"),
            Self::VirtualService => (ISTIO, "v1", "VirtualService", "virtualservices"),
            Self::HttpRoute => (GATEWAY_API, "v1", "HTTPRoute", "httproutes"),
            Self::GrpcRoute => (GATEWAY_API, "v1", "GRPCRoute", "grpcroutes"),
            Self::TcpRouteV1 => (GATEWAY_API, "v1", "TCPRoute", "tcproutes"),
            Self::TcpRouteV1Alpha2 => (GATEWAY_API, "v1alpha2", "TCPRoute", "tcproutes"),
            Self::UdpRouteV1 => (GATEWAY_API, "v1", "UDPRoute", "udproutes"),
            Self::UdpRouteV1Alpha2 => (GATEWAY_API, "v1alpha2", "UDPRoute", "udproutes"),
            Self::TlsRouteV1 => (GATEWAY_API, "v1", "TLSRoute", "tlsroutes"),
            Self::TlsRouteV1Alpha2 => (GATEWAY_API, "v1alpha2", "TLSRoute", "tlsroutes"),
            Self::TlsRouteV1Alpha3 => (GATEWAY_API, "v1alpha3", "TLSRoute", "tlsroutes"),
            Self::Gateway => (GATEWAY_API, "v1", "Gateway", "gateways"),
            Self::IstioGateway => (ISTIO, "v1", "Gateway", "gateways"),
            Self::Namespace => ("", "v1", "Namespace", "namespaces"),
        }
    }
}
