//! Optional admission policies: what a definition cannot say, because annotations are out of its reach.
//!
//! They refuse what the daemon would tell by a condition or an event, with its grammar and nothing more (F-66). Two
//! have the names of k8gb's policies, which they replace. An object is judged only where an annotation of ours is new
//! or changed, so that what was stored before can still be edited, migrated and deleted.

mod grammar;

use std::fmt::Write as _;

use k8s_openapi::api::admissionregistration::v1::{
    MatchCondition, MatchResources, NamedRuleWithOperations, ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding, ValidatingAdmissionPolicyBindingSpec, ValidatingAdmissionPolicySpec,
    Validation, Variable,
};
use kube::Resource;
use kube::core::ObjectMeta;

use crate::definitions::document;
use crate::{Gslb, LegacyGslb, marks};

/// All policies, in the order in which they are printed.
pub fn policies() -> Vec<ValidatingAdmissionPolicy> {
    vec![exposed_addresses(), exposed_host_names(), host_name(), annotated_ingress()]
}

/// What puts a policy into force, in all namespaces.
pub fn binding(policy: &ValidatingAdmissionPolicy) -> ValidatingAdmissionPolicyBinding {
    ValidatingAdmissionPolicyBinding {
        metadata: ObjectMeta { name: policy.metadata.name.clone(), ..ObjectMeta::default() },
        spec: Some(ValidatingAdmissionPolicyBindingSpec {
            policy_name: policy.metadata.name.clone(),
            validation_actions: Some(vec!["Deny".to_owned()]),
            ..ValidatingAdmissionPolicyBindingSpec::default()
        }),
    }
}

/// All policies with their bindings as one stream of YAML documents: what `gslb-bridge crds --admission-policies`
/// prints.
pub fn yaml() -> String {
    let pair = |policy: ValidatingAdmissionPolicy| [document(&policy), document(&binding(&policy))];
    policies().into_iter().flat_map(pair).collect::<Vec<_>>().join("---\n")
}

/// One policy in our words.
struct Policy {
    name: &'static str,
    on: NamedRuleWithOperations,
    /// Annotations by which it is decided whether the object has changed.
    watched: Vec<String>,
    /// Further conditions under which it applies, by name.
    applies: Vec<(&'static str, String)>,
    variables: Vec<(&'static str, String)>,
    rules: Vec<Rule>,
}

struct Rule {
    holds: String,
    message: String,
    /// The same with the value, as an expression; it must not fail when the rule does not hold.
    quoting: Option<String>,
}

fn list(keys: &[String]) -> String {
    format!("[{}]", keys.iter().map(|key| format!("'{key}'")).collect::<Vec<_>>().join(", "))
}

/// One of the annotations is there.
fn has_one(keys: &[String]) -> String {
    format!(
        "has(object.metadata.annotations) && {}.exists(key, key in object.metadata.annotations)",
        list(keys)
    )
}

/// The first of the annotations that is there.
fn first(keys: &[String]) -> String {
    format!(
        "{}.filter(key, key in object.metadata.annotations).map(key, object.metadata.annotations[key])[0]",
        list(keys)
    )
}

fn changed(keys: &[String]) -> String {
    let mut expression = "request.operation == 'CREATE' || !has(oldObject.metadata.annotations)".to_owned();
    write!(
        expression,
        " || {}.exists(key, (key in object.metadata.annotations) != (key in oldObject.metadata.annotations) || \
         (key in object.metadata.annotations && object.metadata.annotations[key] != oldObject.metadata.annotations[key]))",
        list(keys)
    )
    .expect("a text takes everything");
    expression
}

/// The elements of a list with commas; blanks and a comma at the end mean nothing.
fn elements(list: &str) -> String {
    format!("{list}.split(',').map(e, e.trim()).filter(e, e != '')")
}

fn gslbs() -> NamedRuleWithOperations {
    let groups = [Gslb::group(&()), LegacyGslb::group(&())].map(std::borrow::Cow::into_owned);
    rule(groups.into(), Gslb::version(&()).into_owned(), Gslb::plural(&()).into_owned())
}

fn rule(groups: Vec<String>, version: String, resource: String) -> NamedRuleWithOperations {
    NamedRuleWithOperations {
        api_groups: Some(groups),
        api_versions: Some(vec![version]),
        operations: Some(vec!["CREATE".to_owned(), "UPDATE".to_owned()]),
        resources: Some(vec![resource]),
        scope: Some("Namespaced".to_owned()),
        ..NamedRuleWithOperations::default()
    }
}

impl Policy {
    fn build(self) -> ValidatingAdmissionPolicy {
        let condition =
            |(name, expression): (&str, String)| MatchCondition { name: name.to_owned(), expression };
        let conditions = [("annotated", has_one(&self.watched)), ("changed", changed(&self.watched))];
        let variable = |(name, expression): (&str, String)| Variable { name: name.to_owned(), expression };
        let validation = |Rule { holds, message, quoting }| Validation {
            expression: holds,
            message: Some(message),
            message_expression: quoting,
            reason: Some("Invalid".to_owned()),
        };
        ValidatingAdmissionPolicy {
            metadata: ObjectMeta { name: Some(self.name.to_owned()), ..ObjectMeta::default() },
            spec: Some(ValidatingAdmissionPolicySpec {
                failure_policy: Some("Fail".to_owned()),
                match_constraints: Some(MatchResources {
                    resource_rules: Some(vec![self.on]),
                    ..MatchResources::default()
                }),
                match_conditions: Some(conditions.into_iter().chain(self.applies).map(condition).collect()),
                variables: Some(self.variables.into_iter().map(variable).collect()),
                validations: Some(self.rules.into_iter().map(validation).collect()),
                ..ValidatingAdmissionPolicySpec::default()
            }),
            status: None,
        }
    }
}

/// What is computed of a list of addresses, and what must hold of it.
fn address_list(written: String) -> (Vec<(&'static str, String)>, Vec<Rule>) {
    let key = marks::EXPOSED_IP_ADDRESSES;
    let wanted = "list IPv4 addresses, separated by commas";
    let problem = "this is no IP address that clients can be sent to";
    let variables = vec![
        ("addresses", elements(&written)),
        ("wrong", format!("variables.addresses.filter(e, {})", grammar::no_address())),
        ("answered", format!("variables.addresses.filter(e, {})", grammar::answered())),
    ];
    let rules = vec![
        Rule {
            holds: "size(variables.addresses) > 0".to_owned(),
            message: format!("annotation {key} is empty; list IPv4 addresses in it, or remove it"),
            quoting: None,
        },
        Rule {
            holds: "size(variables.wrong) == 0".to_owned(),
            message: format!("annotation {key} has an element: {problem}; {wanted}"),
            quoting: Some(format!(
                "'annotation {key} has \"' + variables.wrong[0] + '\": {problem}; {wanted}'"
            )),
        },
        Rule {
            holds: "size(variables.answered) > 0".to_owned(),
            message: format!("annotation {key} lists no IPv4 address, and others are not answered; add one"),
            quoting: None,
        },
    ];
    (variables, rules)
}

fn exposed_addresses() -> ValidatingAdmissionPolicy {
    let [own, stronger] = [marks::EXPOSED_IP_ADDRESSES, marks::EXPOSED_HOSTNAMES]
        .map(|key| marks::keys(key).collect::<Vec<_>>());
    let (variables, rules) = address_list(first(&own));
    let applies = vec![
        ("listed", has_one(&own)),
        // Nobody reads the addresses then.
        ("counts", format!("!{}.exists(key, key in object.metadata.annotations)", list(&stronger))),
    ];
    let watched = [own, stronger].concat();
    Policy { name: "k8gb-exposed-ip-annotation", on: gslbs(), watched, applies, variables, rules }.build()
}

fn exposed_host_names() -> ValidatingAdmissionPolicy {
    let key = marks::EXPOSED_HOSTNAMES;
    let watched: Vec<String> = marks::keys(key).collect();
    let problem = format!(
        "this is no host name; list host names, separated by commas, and addresses in {}",
        marks::EXPOSED_IP_ADDRESSES
    );
    let variables = vec![
        ("names", elements(&first(&watched))),
        ("wrong", format!("variables.names.filter(e, {} || !({}))", grammar::ipv4(), grammar::name())),
    ];
    let rules = vec![
        Rule {
            holds: "size(variables.names) > 0".to_owned(),
            message: format!("annotation {key} is empty; list host names in it, or remove it"),
            quoting: None,
        },
        Rule {
            holds: "size(variables.wrong) == 0".to_owned(),
            message: format!("annotation {key} has an element: {problem}"),
            quoting: Some(format!("'annotation {key} has \"' + variables.wrong[0] + '\": {problem}'")),
        },
    ];
    let name = "k8gb-exposed-hostnames-annotation";
    Policy { name, on: gslbs(), watched, applies: Vec::new(), variables, rules }.build()
}

fn host_name() -> ValidatingAdmissionPolicy {
    let key = marks::HOSTNAME;
    let watched: Vec<String> = marks::keys(key).collect();
    // Other kinds name their hosts themselves.
    let unnamed = "has(object.spec.resourceRef) && has(object.spec.resourceRef.kind) && \
                   object.spec.resourceRef.kind in ['Service', 'TCPRoute', 'UDPRoute']";
    let variables = vec![("host", format!("{}.trim()", first(&watched)))];
    let problem = "is no host name; write one, for example app.cloud.example.com";
    let rules = vec![Rule {
        holds: grammar::of("variables.host", &grammar::name()),
        message: format!("annotation {key} {problem}"),
        quoting: Some(format!("'annotation {key} \"' + variables.host + '\" {problem}'")),
    }];
    let applies = vec![("unnamed", unnamed.to_owned())];
    Policy { name: "gslb-bridge-hostname-annotation", on: gslbs(), watched, applies, variables, rules }
        .build()
}

/// An annotation of the object, or what stands for it if it is not there.
fn or(key: &str, absent: &str) -> String {
    format!("'{key}' in object.metadata.annotations ? object.metadata.annotations['{key}'] : '{absent}'")
}

fn annotated_ingress() -> ValidatingAdmissionPolicy {
    let strategy = marks::STRATEGY;
    let exposed = marks::EXPOSED_IP_ADDRESSES;
    let (mut variables, mut addresses) = address_list(format!("({})", or(exposed, "")));
    for rule in &mut addresses {
        rule.holds = format!("!('{exposed}' in object.metadata.annotations) || {}", rule.holds);
    }
    variables.extend([
        ("strategy", or(strategy, "")),
        ("primary", or(marks::PRIMARY_GEO_TAG, "")),
        ("ttl", or(marks::DNS_TTL_SECONDS, "0")),
    ]);
    let mut rules = strategy_rules();
    rules.extend(addresses);
    let applies = vec![
        ("asks", format!("'{strategy}' in object.metadata.annotations")),
        (
            "ownerless",
            "!has(object.metadata.ownerReferences) || \
             !object.metadata.ownerReferences.exists(owner, owner.kind == 'Gslb')"
                .to_owned(),
        ),
    ];
    let watched = [strategy, marks::PRIMARY_GEO_TAG, marks::DNS_TTL_SECONDS, exposed].map(str::to_owned);
    Policy {
        name: "gslb-bridge-ingress-annotations",
        on: rule(vec!["networking.k8s.io".to_owned()], "v1".to_owned(), "ingresses".to_owned()),
        watched: watched.into(),
        applies,
        variables,
        rules,
    }
    .build()
}

/// What must hold of the variables `strategy`, `primary` and `ttl`.
fn strategy_rules() -> Vec<Rule> {
    let [strategy, primary, ttl] = [marks::STRATEGY, marks::PRIMARY_GEO_TAG, marks::DNS_TTL_SECONDS];
    let rule = |key: &str, variable: &str, holds: String, problem: &str| Rule {
        holds,
        message: format!("{key} {problem}"),
        quoting: Some(format!("'{key} \"' + variables.{variable} + '\" {problem}'")),
    };
    let known = "variables.strategy in ['roundRobin', 'failover', 'geoip']".to_owned();
    let tag = grammar::of("variables.primary", &format!("e == '' || {}", grammar::geo_tag()));
    let seconds = grammar::of("variables.ttl", grammar::ttl());
    let no_ttl = "is no time to live; write a number from 0 to 2147483647 (0 means 30)";
    vec![
        rule(strategy, "strategy", known, "is unknown; write roundRobin, failover or geoip"),
        rule(primary, "primary", tag, "is no geo tag; write letters, digits and inner dashes"),
        Rule {
            holds: "variables.strategy != 'failover' || variables.primary != ''".to_owned(),
            message: format!("{strategy} failover needs a primary; name it in {primary}"),
            quoting: None,
        },
        rule(ttl, "ttl", seconds, no_ttl),
    ]
}
