//! Sessions, and how often a credential is tried.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use gslb_core::login::LoginRecord;
use gslb_mocks::wapi::{Fault, FaultRule};
use gslb_provider_contract::error::BoxError;
use gslb_provider_contract::{Observe, ProviderError, Retry};
use gslb_provider_infoblox::{Credentials, ForgetfulMemory, GridAddress, Infoblox, LoginMemory};

use crate::stage::{OnGrid, PASSWORD, USER, Wanted, builder, credentials, scope, wants};

fn wrong(memory: &Arc<ForgetfulMemory>) -> Wanted {
    Wanted { credentials: credentials("wrong"), memory: Arc::clone(memory) as _, ..Wanted::default() }
}

/// Conformance 107.
#[tokio::test]
async fn a_wrong_password_is_sent_twice_a_minute_apart_and_then_never_again() {
    let on = OnGrid::with(builder(), wrong(&Arc::default()));
    assert_eq!(on.observe().await.unwrap_err().reason(), "Unauthenticated");
    for _ in 0..5 {
        let held = on.observe().await.unwrap_err();
        assert!(matches!(held.retry(), Retry::Until(_)), "{held:?}");
    }
    assert_eq!(on.grid.bad_logins(), 1);
    on.advance(60);
    assert_eq!(on.observe().await.unwrap_err().reason(), "Unauthenticated");
    on.advance(86_400);
    let held = on.observe().await.unwrap_err();
    assert_eq!((held.reason(), held.retry()), ("LoginHeld", Retry::AfterChange));
    assert!(held.to_string().contains("HTTP 401"), "{held}");
    assert_eq!(on.grid.bad_logins(), 2);
}

#[tokio::test]
async fn the_count_outlives_the_process() {
    let memory = Arc::default();
    let on = OnGrid::with(builder(), wrong(&memory));
    on.observe().await.unwrap_err();
    let restarted = on.another(wrong(&memory));
    assert_eq!(restarted.observe(&scope()).await.unwrap_err().reason(), "LoginHeld");
    assert_eq!(on.grid.bad_logins(), 1);
}

#[tokio::test]
async fn many_zones_at_once_make_one_bad_log_in() {
    let on = OnGrid::with(builder(), wrong(&Arc::default()));
    let scope = scope();
    let all = (0..10).map(|_| on.provider.observe(&scope));
    for failed in futures::future::join_all(all).await {
        failed.unwrap_err();
    }
    assert_eq!(on.grid.bad_logins(), 1);
}

#[tokio::test]
async fn a_changed_secret_is_read_from_its_file_and_tried_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let (username_file, password_file) = (dir.path().join("username"), dir.path().join("password"));
    std::fs::write(&username_file, USER).unwrap();
    std::fs::write(&password_file, "wrong").unwrap();
    let files = Credentials::Files { username_file, password_file: password_file.clone() };
    let on = OnGrid::with(builder(), Wanted { credentials: files, ..Wanted::default() });
    on.observe().await.unwrap_err();
    std::fs::write(&password_file, PASSWORD).unwrap();
    on.observe().await.unwrap();
    assert_eq!(on.grid.bad_logins(), 1);
}

#[tokio::test]
async fn an_expired_session_is_renewed_within_the_call_and_is_no_bad_log_in() {
    let on = OnGrid::new();
    on.observe().await.unwrap();
    on.grid.expire_sessions();
    on.observe().await.unwrap();
    on.grid.expire_sessions();
    on.pass(&wants(&["192.0.2.53"])).await.unwrap();
    assert_eq!(on.grid.bad_logins(), 0);
}

#[tokio::test]
async fn a_credential_that_works_again_after_a_rejection_is_counted_from_the_start() {
    let on = OnGrid::new();
    on.grid.faults().inject(Fault::Unauthorized.times(1));
    on.observe().await.unwrap_err();
    on.advance(60);
    on.observe().await.unwrap();
    // Once for the session, once for the credential.
    on.grid.faults().inject(Fault::Unauthorized.times(2));
    on.observe().await.unwrap_err();
    let held = on.observe().await.unwrap_err();
    assert!(matches!(held, ProviderError::LoginHeld { until: Some(_), .. }), "{held:?}");
}

#[tokio::test]
async fn an_outage_during_the_log_in_is_no_bad_log_in() {
    for fault in [Fault::Unavailable, Fault::Forbidden, Fault::MetaRefresh] {
        let on = OnGrid::new();
        on.grid.faults().inject(fault);
        for _ in 0..2 {
            assert_ne!(on.observe().await.unwrap_err().reason(), "LoginHeld");
        }
        on.grid.faults().clear();
        on.advance(30);
        on.observe().await.unwrap();
    }
}

/// A grid that blocks a client after bad log-ins drops what it sends (reference.md §1.3).
#[tokio::test]
async fn log_ins_whose_reply_is_lost_are_counted_and_grow_rare() {
    for fault in [Fault::ResetBeforeCommit, Fault::ResetAfterCommit, Fault::BadGateway, Fault::GatewayTimeout]
    {
        let memory = Arc::<ForgetfulMemory>::default();
        let on = OnGrid::with(builder(), wrong(&memory));
        on.grid.faults().inject(fault);
        let mut sent = vec![];
        for second in 0..600 {
            let before = on.grid.journal().entries().len();
            let failed = on.observe().await.unwrap_err();
            match on.grid.journal().entries().len() - before {
                0 => assert!(failed.to_string().contains("gave no answer to the last log-in"), "{failed}"),
                count => {
                    assert_eq!((count, failed.reason()), (1, "ProviderUnavailable"), "{fault:?}");
                    sent.push(second);
                }
            }
            on.advance(1);
        }
        assert_eq!(sent, [0, 60, 180, 420], "{fault:?}");
        // The grid answers again, and the password is still wrong: that may have been more bad ones than two already.
        on.grid.faults().clear();
        on.advance(900);
        assert_eq!(on.observe().await.unwrap_err().reason(), "Unauthenticated");
        on.advance(86_400);
        assert_eq!(on.observe().await.unwrap_err().retry(), Retry::AfterChange);
        // So it is after a restart.
        let restarted = on.another(wrong(&memory)).observe(&scope()).await.unwrap_err();
        assert_eq!(restarted.retry(), Retry::AfterChange);
    }
}

#[tokio::test]
async fn a_rejection_and_a_lost_reply_are_two_bad_log_ins() {
    let on = OnGrid::with(builder(), wrong(&Arc::default()));
    on.observe().await.unwrap_err();
    on.advance(60);
    on.grid.faults().inject(Fault::ResetAfterCommit);
    assert_eq!(on.observe().await.unwrap_err().reason(), "ProviderUnavailable");
    on.grid.faults().clear();
    on.advance(86_400);
    assert_eq!(on.observe().await.unwrap_err().retry(), Retry::AfterChange);
}

/// As a session that lives needs none, an outage costs a credential that works one log-in at most.
#[tokio::test]
async fn an_outage_holds_up_a_proven_credential_for_a_minute_at_most() {
    for fault in [Fault::ResetBeforeCommit, Fault::BadGateway, Fault::Unavailable] {
        let on = OnGrid::new();
        on.observe().await.unwrap();
        // In the session.
        on.grid.faults().inject(fault);
        for _ in 0..4 {
            assert_eq!(on.observe().await.unwrap_err().reason(), "ProviderUnavailable", "{fault:?}");
            on.advance(15);
        }
        on.grid.faults().clear();
        on.advance(30);
        on.observe().await.unwrap();
        // The session ended meanwhile.
        on.grid.expire_sessions();
        on.grid.faults().inject(fault);
        for _ in 0..4 {
            on.observe().await.unwrap_err();
            on.advance(15);
        }
        on.grid.faults().clear();
        on.advance(30);
        on.observe().await.unwrap();
        assert_eq!(on.grid.bad_logins(), 0);
    }
}

#[tokio::test]
async fn a_log_in_that_its_caller_gave_up_is_counted_though_the_process_lives() {
    let memory = Arc::<ForgetfulMemory>::default();
    let on = OnGrid::with(builder(), Wanted { memory: Arc::clone(&memory) as _, ..Wanted::default() });
    on.observe().await.unwrap();
    on.grid.expire_sessions();
    // The first request finds the session gone, the second one logs in.
    on.grid.faults().inject(FaultRule::from(Fault::Slow(Duration::from_secs(3600))).after(1).times(1));
    let arrived = async {
        while !on.grid.faults().in_force().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        outcome = on.observe() => panic!("{outcome:?}"),
        () = arrived => {}
    }
    // The second one ends likewise.
    on.grid.faults().replace(Some(Fault::ResetBeforeCommit));
    on.observe().await.unwrap_err();
    on.grid.faults().clear();
    let held = on.observe().await.unwrap_err();
    assert!(matches!(held, ProviderError::LoginHeld { until: Some(_), .. }), "{held:?}");
    on.advance(60);
    on.observe().await.unwrap();
}

#[tokio::test]
async fn a_grid_that_cannot_be_connected_to_costs_no_log_in() {
    let on = OnGrid::new();
    let mut settings = on.settings(&Wanted::default());
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    settings.grids = vec![GridAddress::new("127.0.0.1", port, "v2.12.3").unwrap()];
    let memory = Arc::<ForgetfulMemory>::default();
    let away = Infoblox::new(settings, Arc::clone(&memory) as _, Arc::new(())).unwrap();
    for _ in 0..3 {
        let failed = away.observe(&scope()).await.unwrap_err();
        assert_eq!(failed.reason(), "ProviderUnavailable", "{failed}");
    }
    let back = on.another(Wanted { memory, ..Wanted::default() });
    back.observe(&scope()).await.unwrap();
}

#[tokio::test]
async fn the_memory_is_not_written_while_a_good_session_is_renewed() {
    let memory = Arc::new(ForgetfulMemory::default());
    let on = OnGrid::with(builder(), Wanted { memory: Arc::clone(&memory) as _, ..Wanted::default() });
    on.observe().await.unwrap();
    let stored: Option<LoginRecord> = memory.load().await.unwrap();
    on.grid.expire_sessions();
    on.advance(600);
    on.observe().await.unwrap();
    assert_eq!(memory.load().await.unwrap(), stored);
    assert!(!serde_json::to_string(&stored).unwrap().contains("p:a"));
}

/// A memory that is away for a while.
#[derive(Default)]
struct Away(std::sync::atomic::AtomicBool, ForgetfulMemory);

#[async_trait::async_trait]
impl LoginMemory for Away {
    async fn load(&self) -> Result<Option<LoginRecord>, BoxError> {
        if self.0.load(Ordering::SeqCst) {
            return Err("the API server is away".into());
        }
        self.1.load().await
    }

    async fn store(&self, before: Option<&LoginRecord>, record: &LoginRecord) -> Result<(), BoxError> {
        self.1.store(before, record).await
    }
}

#[tokio::test]
async fn a_memory_that_is_away_is_not_held_against_the_grid() {
    let memory = Arc::new(Away::default());
    memory.0.store(true, Ordering::SeqCst);
    let on = OnGrid::with(builder(), Wanted { memory: Arc::clone(&memory) as _, ..Wanted::default() });
    for _ in 0..10 {
        assert_eq!(on.observe().await.unwrap_err().reason(), "ProviderUnavailable");
    }
    memory.0.store(false, Ordering::SeqCst);
    on.observe().await.unwrap();
}

/// A memory that can be read but not written, for a while: a quota, a lost right.
#[derive(Default)]
struct ReadOnly(std::sync::atomic::AtomicBool, ForgetfulMemory);

#[async_trait::async_trait]
impl LoginMemory for ReadOnly {
    async fn load(&self) -> Result<Option<LoginRecord>, BoxError> {
        self.1.load().await
    }

    async fn store(&self, before: Option<&LoginRecord>, record: &LoginRecord) -> Result<(), BoxError> {
        if self.0.load(Ordering::SeqCst) {
            return Err("forbidden: quota".into());
        }
        self.1.store(before, record).await
    }
}

#[tokio::test]
async fn a_proven_credential_is_not_hammered_while_the_memory_cannot_be_written() {
    let memory = Arc::new(ReadOnly::default());
    let wanted = || Wanted { memory: Arc::clone(&memory) as _, ..Wanted::default() };
    let on = OnGrid::with(builder(), wanted());
    on.observe().await.unwrap();
    memory.0.store(true, Ordering::SeqCst);
    on.grid.expire_sessions();
    on.grid.faults().inject(Fault::Unauthorized);
    assert_eq!(on.observe().await.unwrap_err().reason(), "Unauthenticated");
    let bad = on.grid.bad_logins();
    for _ in 0..20 {
        on.advance(60);
        assert_eq!(on.observe().await.unwrap_err().reason(), "ProviderUnavailable");
        // Neither does a process that starts now.
        assert_eq!(on.another(wanted()).observe(&scope()).await.unwrap_err().reason(), "ProviderUnavailable");
    }
    assert_eq!(on.grid.bad_logins(), bad);
    // When it can be written again, the rejection is stored and its pause is kept.
    memory.0.store(false, Ordering::SeqCst);
    on.grid.faults().clear();
    on.observe().await.unwrap();
}

#[tokio::test]
async fn two_processes_with_different_passwords_do_not_reset_one_another() {
    let memory = Arc::new(ForgetfulMemory::default());
    let on = OnGrid::with(builder(), wrong(&memory));
    let other = on.another(Wanted { credentials: credentials("also wrong"), ..wrong(&memory) });
    for _ in 0..30 {
        on.observe().await.unwrap_err();
        other.observe(&scope()).await.unwrap_err();
        on.advance(30);
    }
    assert_eq!(on.grid.bad_logins(), 4);
}

/// A memory that never answers.
struct Silent;

#[async_trait::async_trait]
impl LoginMemory for Silent {
    async fn load(&self) -> Result<Option<LoginRecord>, BoxError> {
        std::future::pending().await
    }

    async fn store(&self, _: Option<&LoginRecord>, _: &LoginRecord) -> Result<(), BoxError> {
        std::future::pending().await
    }
}

#[tokio::test]
async fn a_memory_that_never_answers_is_an_error_in_time() {
    let timeout = Duration::from_millis(20);
    let on = OnGrid::with(builder(), Wanted { memory: Arc::new(Silent), timeout, ..Wanted::default() });
    assert_eq!(on.observe().await.unwrap_err().reason(), "ProviderUnavailable");
    assert_eq!(on.grid.journal().entries(), []);
}

#[tokio::test]
async fn a_clock_that_is_set_back_does_not_prolong_the_pause() {
    let on = OnGrid::with(builder(), wrong(&Arc::default()));
    on.observe().await.unwrap_err();
    on.advance(-3600);
    assert_eq!(on.observe().await.unwrap_err().reason(), "LoginHeld");
    on.advance(60);
    assert_eq!(on.observe().await.unwrap_err().reason(), "Unauthenticated");
    assert_eq!(on.grid.bad_logins(), 2);
}

#[tokio::test]
async fn a_page_in_between_does_not_reset_the_count() {
    let on = OnGrid::with(builder(), wrong(&Arc::default()));
    on.observe().await.unwrap_err();
    on.advance(60);
    on.grid.faults().inject(Fault::MetaRefresh.times(1));
    assert_eq!(on.observe().await.unwrap_err().reason(), "Misconfigured");
    on.observe().await.unwrap_err();
    assert_eq!(on.observe().await.unwrap_err().retry(), Retry::AfterChange);
    assert_eq!(on.grid.bad_logins(), 2);
}
