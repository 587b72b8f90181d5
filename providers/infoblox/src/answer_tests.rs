use super::*;

fn grid() -> GridAddress {
    GridAddress::new("gm.example.com", 443, "2.12.3").unwrap()
}

fn answer(status: u16, content_type: &str, body: &str) -> Answer {
    let status = StatusCode::from_u16(status).unwrap();
    let json = serde_json::from_str(body).ok();
    let (content_type, body) = (content_type.to_owned(), body.to_owned());
    Answer {
        status,
        content_type,
        location: None,
        session: None,
        retry_after: None,
        body,
        json,
        costs_login: false,
    }
}

fn failure(status: u16, content_type: &str, body: &str) -> (Kind, &'static str, String) {
    let failure = interpret(&grid(), &Secrets::default(), answer(status, content_type, body)).unwrap_err();
    (failure.kind, failure.error.reason(), failure.error.to_string())
}

fn json_failure(status: u16, code: &str, text: &str) -> (Kind, &'static str, String) {
    let body = serde_json::json!({"Error": format!("AdmConDataError: {text}"), "code": code, "text": text});
    failure(status, "application/json", &body.to_string())
}

const HTML: &str = "text/html; charset=iso-8859-1";

#[test]
fn a_bare_string_with_a_lying_content_type_is_a_success() {
    let reply =
        interpret(&grid(), &Secrets::default(), answer(201, HTML, "\"zone_delegated/x:y/default\"")).unwrap();
    assert_eq!(reply, "zone_delegated/x:y/default");
}

#[test]
fn a_candidate_is_told_from_the_master_and_its_target_named() {
    let page = r#"<HTML><HEAD><META HTTP-EQUIV="REFRESH" CONTENT="0; URL=https://192.0.2.9/"></HEAD></HTML>"#;
    assert_eq!(
        failure(200, "text/html", page),
        (
            Kind::Elsewhere,
            "Misconfigured",
            "Infoblox at gm.example.com is not the Grid Master, it refers to https://192.0.2.9/; set INFOBLOX_GRID_HOST to the Grid Master".into()
        )
    );
}

#[test]
fn a_page_an_empty_body_and_garbage_are_no_answer() {
    for (body, word) in [("<html>Login</html>", "HTML"), ("", "empty"), ("nonsense", "not JSON")] {
        let (kind, reason, text) = failure(200, "application/json", body);
        assert_eq!((kind, reason), (Kind::Slow, "UnexpectedAnswer"));
        assert!(text.contains(word), "{text}");
    }
}

#[test]
fn html_errors_of_the_web_server_are_explained_by_their_status() {
    let cases = [
        (401, Kind::Final, "Unauthenticated"),
        (403, Kind::Slow, "Forbidden"),
        (407, Kind::Before, "Forbidden"),
        (408, Kind::Slow, "UnexpectedAnswer"),
        (500, Kind::Slow, "ProviderUnavailable"),
        (502, Kind::Passing, "ProviderUnavailable"),
        // A proxy's page: some say so of a grid that took the request in.
        (503, Kind::Passing, "ProviderUnavailable"),
        (504, Kind::Slow, "ProviderUnavailable"),
        (429, Kind::Final, "ProviderUnavailable"),
        (404, Kind::Slow, "UnexpectedAnswer"),
    ];
    for (status, kind, reason) in cases {
        let (found_kind, found_reason, text) = failure(status, HTML, "<html><title>x</title></html>");
        assert_eq!((found_kind, found_reason), (kind, reason), "{status}");
        assert!(text.contains(&status.to_string()), "{text}");
    }
}

#[test]
fn a_busy_grid_is_looked_at_again_before_a_write_counts_as_not_made() {
    assert_eq!(failure(503, "text/plain", "Temporary Unavailable").0, Kind::Passing);
}

#[test]
fn a_status_that_no_grid_gives_says_nothing_of_a_write() {
    for status in [101, 300, 303, 304, 600, 999] {
        let (kind, reason, text) = failure(status, HTML, "");
        assert_eq!((kind, reason), (Kind::Slow, "UnexpectedAnswer"), "{text}");
    }
    for status in [301, 302, 307, 308] {
        assert_eq!(failure(status, HTML, "").0, Kind::Elsewhere);
    }
}

#[test]
fn an_unsupported_version_is_a_setting() {
    let (kind, reason, text) = failure(400, "text/plain", "Version 2.12.3 not supported");
    assert_eq!((kind, reason), (Kind::Version, "Misconfigured"));
    assert!(
        text.contains("Version 2.12.3 not supported") && text.contains("INFOBLOX_WAPI_VERSION"),
        "{text}"
    );
}

#[test]
fn an_unknown_view_and_a_missing_parent_are_settings() {
    let (_, reason, text) = json_failure(404, "Client.Ibap.Data.NotFound", "View nosuchview not found");
    assert_eq!(reason, "Misconfigured");
    assert_eq!(
        text,
        "Infoblox at gm.example.com says: View nosuchview not found; set INFOBLOX_DNS_VIEW to the name of a DNS view that the account may see"
    );
    let parent = "The action is not allowed. A parent was not found.";
    let (_, reason, text) = json_failure(400, "Client.Ibap.Data.Conflict", parent);
    assert_eq!(reason, "Misconfigured");
    assert!(text.contains("A parent was not found; there must be"), "{text}");
}

#[test]
fn a_conflict_is_told_apart_by_its_text_which_is_quoted() {
    let conflict = |text: &str| json_failure(400, "Client.Ibap.Data.Conflict", text);
    let duplicate = "Duplicate object 'cloud.example.com' of type zone exists in the database.";
    assert_eq!(conflict(duplicate).0, Kind::Duplicate);
    let denied = "Write permission for the zone 'example.com' is required for this operation.";
    let (kind, reason, text) = conflict(denied);
    assert_eq!((kind, reason), (Kind::Final, "Refused"));
    assert!(text.contains("Write permission for the zone 'example.com'"), "{text}");
}

#[test]
fn a_reference_that_is_gone_is_known_as_such() {
    let text = "Reference zone_delegated/x:y/default not found";
    assert_eq!(json_failure(404, "Client.Ibap.Data.NotFound", text).0, Kind::ReferenceGone);
}

#[test]
fn json_that_wapi_did_not_write_says_nothing_of_a_write() {
    let (kind, reason, text) = failure(404, "application/json", r#"{"message": "no Route matched"}"#);
    assert_eq!((kind, reason), (Kind::Slow, "UnexpectedAnswer"), "{text}");
}

/// Gateways speak JSON, too, and nobody behind them has looked at the password.
#[test]
fn only_what_the_api_itself_says_proves_a_credential() {
    let error = r#"{"Error": "AdmConDataError: None", "code": "Client.Ibap.Data", "text": "Not found"}"#;
    let cases = [
        (200, "[]", true),
        (201, r#""zone_delegated/x:y/default""#, true),
        (200, r#"{"result": [], "next_page_id": "789c"}"#, true),
        (200, r#"{"requested_version": "2.12.3", "supported_objects": ["record:a"]}"#, true),
        (200, r#"[["record:a/x:y/default"], [], {"_ref": "record:a/x:y/default"}]"#, true),
        (200, "<html></html>", false),
        (200, r#"{"message": "ok"}"#, false),
        (200, r#"{"status": 200, "error": null}"#, false),
        (200, r#""OK""#, false),
        (200, "[1, 2]", false),
        (200, "true", false),
        (200, "null", false),
        (400, error, true),
        (404, error, true),
        (404, r#"{"message": "no Route matched"}"#, false),
        (400, r#"{"Error": "bad request"}"#, false),
        (400, r#"{"Error": "bad request", "code": "400", "text": "bad request"}"#, false),
        (404, r#"{"code": "Client.Ibap.Data", "text": "Not found"}"#, false),
        (429, r#"{"message": "API rate limit exceeded"}"#, false),
        (429, error, false),
        (403, error, false),
        (407, error, false),
        (302, error, false),
        (500, error, false),
    ];
    for (status, body, proves) in cases {
        assert_eq!(answer(status, "application/json", body).is_from_wapi(), proves, "{status} {body}");
    }
}

#[test]
fn a_session_of_the_grid_proves_a_credential_whatever_the_json_that_brought_it() {
    let with = |status: u16| Answer {
        session: Some(HeaderValue::from_static("ibapauth=x")),
        ..answer(status, "application/json", "{}")
    };
    assert_eq!(
        [200, 401, 403, 404, 502].map(|status| with(status).is_from_wapi()),
        [true, false, false, false, false]
    );
}
