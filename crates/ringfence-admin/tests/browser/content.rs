//! What the page shows.

use std::time::Duration;

use ringfence_discovery::{FileDocument, MemoryRegistry};

use crate::{
    chromium::Chromium,
    site::{SERVICE, Site},
};

const ROWS: &str = "document.querySelectorAll('#instance-rows tr').length";

#[tokio::test]
async fn the_page_loads_and_asks_nobody_else() {
    let site = Site::of(3).await;
    let chromium = Chromium::start().await;
    chromium.open(&site.url()).await;
    chromium.until(&format!("{ROWS} === 3")).await;
    chromium
        .until("document.querySelectorAll('#ring path.arc').length === 3")
        .await;
    assert_eq!(chromium.text("#phase").await, "serving");
    assert_eq!(chromium.text("#service-name").await, SERVICE);
    let title = chromium.page.title().await.expect("a title");
    assert_eq!(title, "orders (serving) - Ringfence");
    // It goes on asking, so the time of the last answer moves.
    let before = chromium.text("#live-text").await;
    chromium
        .until(&format!(
            "document.querySelector('#live-text').textContent !== {before:?}"
        ))
        .await;
    chromium.judge(&site.url()).await;
}

#[tokio::test]
async fn an_explained_key_goes_where_a_pick_sends_it() {
    let site = Site::of(5).await;
    let chromium = Chromium::start().await;
    chromium.open(&site.url()).await;
    chromium.until(&format!("{ROWS} === 5")).await;
    // Characters that mean something in a URL.
    for key in ["alice", "user-7", "a b&c=d?e#f%20+é/😀", "00000"] {
        let field = chromium.element("#key").await;
        field.clear().await.expect("it can be cleared");
        field.send_keys(key).await.expect("it can be typed into");
        chromium
            .element("#explain button[type=submit]")
            .await
            .click()
            .await
            .expect("it can be pressed");
        let expected = format!("Goes to {}", site.owner(key));
        chromium.until(&format!("document.querySelector('#answer') && document.querySelector('#explanation code').textContent === {key:?}")).await;
        assert_eq!(chromium.text("#answer").await, expected, "{key}");
        // Its place on the ring, and the arcs of its owner.
        chromium.until("document.querySelector('#needle path') && document.querySelector('#ring.chosen path.shown')").await;
    }
    chromium.judge(&site.url()).await;
}

#[tokio::test]
async fn hostile_ids_stay_text() {
    let hostile = [
        "<script>window.pwned = 1</script>",
        "<img src=x onerror='window.pwned = 2'>",
        "\"><svg onload=\"window.pwned=3\">",
        "{{constructor.constructor('window.pwned=4')()}}",
        "javascript:window.pwned=5",
        "__proto__",
        "</style></script><b id=injected>",
    ];
    let site = Site::of_ids(&hostile).await;
    let chromium = Chromium::start().await;
    chromium.open(&site.url()).await;
    chromium
        .until(&format!("{ROWS} === {}", hostile.len()))
        .await;
    let shown = chromium.eval("return [...document.querySelectorAll('#instance-rows .who button')].map((button) => button.textContent).sort()").await;
    let mut expected = hostile.map(ToOwned::to_owned).to_vec();
    expected.sort();
    assert_eq!(shown, serde_json::json!(expected));
    // Where an id is shown otherwise: pointed at, explained, in the changes.
    site.registry
        .deregister(SERVICE, hostile[0])
        .expect("it was there");
    chromium
        .until(&format!("{ROWS} === {}", hostile.len() - 1))
        .await;
    chromium.explain("<script>window.pwned = 6</script>").await;
    let state = chromium.eval("return [window.pwned === undefined, document.scripts.length, document.querySelector('#injected') === null, document.querySelector('main img') === null]").await;
    assert_eq!(state, serde_json::json!([true, 1, true, true]));
    // And no script of others would run, whatever came into the page.
    chromium.eval("const script = document.createElement('script'); script.textContent = 'window.pwned = 7'; document.body.append(script);").await;
    assert_eq!(
        chromium.eval("return window.pwned === undefined").await,
        true
    );
}

#[tokio::test]
async fn before_the_first_view_it_says_so() {
    let registry = MemoryRegistry::new();
    let site = Site::before_the_first_view(registry).await;
    let chromium = Chromium::start().await;
    chromium.open(&site.url()).await;
    chromium
        .until("document.querySelector('#phase').textContent === 'no such service'")
        .await;
    chromium
        .until("!document.querySelector('#note').hidden")
        .await;
    assert!(
        chromium
            .text("#note")
            .await
            .contains("does not know the service")
    );
    assert!(
        chromium
            .text("#no-instances")
            .await
            .contains("no instances")
    );
    // The first instance comes.
    let first = crate::site::instance("orders-1", 0).build().expect("legal");
    site.registry.register(SERVICE, first);
    chromium
        .until("document.querySelector('#phase').textContent === 'serving'")
        .await;
    chromium
        .until(&format!(
            "{ROWS} === 1 && document.querySelector('#note').hidden"
        ))
        .await;
    // One instance has the whole circle.
    chromium
        .until("document.querySelectorAll('#ring path.arc').length === 1")
        .await;
    chromium.judge(&site.url()).await;
}

#[tokio::test]
async fn a_hundred_instances_can_be_sorted_and_filtered() {
    let site = Site::of(100).await;
    let chromium = Chromium::start().await;
    chromium.open(&site.url()).await;
    chromium.until(&format!("{ROWS} === 100")).await;
    chromium
        .until("document.querySelectorAll('#ring path.arc').length === 100")
        .await;
    let first = "document.querySelector('#instance-rows .who button').textContent";
    // In the order of people: 2 before 10.
    assert_eq!(chromium.eval(&format!("return {first}")).await, "orders-1");
    chromium
        .element("#sort-id")
        .await
        .click()
        .await
        .expect("it can be pressed");
    chromium.until(&format!("{first} === 'orders-100'")).await;
    assert_eq!(
        chromium
            .eval("return document.querySelector('th[aria-sort]').getAttribute('aria-sort')")
            .await,
        "descending"
    );
    chromium
        .element("#filter")
        .await
        .send_keys("orders-9")
        .await
        .expect("typed");
    chromium.until(&format!("{ROWS} === 11")).await;
    chromium.judge(&site.url()).await;
}

/// A policy that is not used must not look like one that is.
#[tokio::test]
async fn a_policy_that_is_not_used_is_told_and_one_that_is_observed_is_reported() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let write = |text: &str| std::fs::write(file.path(), text).expect("it can be written");
    write("ringfence: 1\nrules:\n  - { name: <i>carts</i>, keys: [] }\n");
    let document = FileDocument::new(file.path());
    let document = document.with_poll_interval(Duration::from_millis(100));
    let site = Site::with_policy_from(document.expect("in range")).await;
    let chromium = Chromium::start().await;
    chromium.open(&site.url()).await;
    chromium
        .until("!document.querySelector('#policy-fault').hidden")
        .await;
    let told = chromium.text("#policy-fault").await;
    assert!(
        told.starts_with("The newest policy is not used: "),
        "{told}"
    );
    assert!(
        told.contains("rules[0], line 3; why is in the program's log")
            && !told.contains("keys")
            && told.ends_with("No policy is in force."),
        "{told}"
    );
    assert_eq!(
        chromium
            .eval("return document.querySelector('#observe-card').hidden")
            .await,
        true
    );
    chromium.judge(&site.url()).await;

    write("ringfence: 1\nmode: observe\nrules:\n  - { name: carts, key: [{ header: x-user }] }\n");
    chromium
        .until("document.querySelector('#policy-fault').hidden && document.querySelector('#pools').textContent.includes('from file')")
        .await;
    let pools = chromium.text("#pools").await;
    assert!(pools.contains(", 1 rule, observes"), "{pools}");
    chromium.explain("alice").await;
    let answer = chromium.text("#answer").await;
    assert!(
        answer.starts_with("Would go to a usable instance: ")
            && answer.ends_with("; the baseline decides"),
        "{answer}"
    );
    site.observe(20, "orders-1");
    chromium
        .until("!document.querySelector('#observe-card').hidden && document.querySelector('#observe').textContent.includes('20 requests')")
        .await;
    let rows = chromium
        .eval("return [...document.querySelectorAll('#observe li')].map((row) => row.querySelector('.what').textContent)")
        .await;
    assert!(
        rows.as_array()
            .expect("a list")
            .contains(&"orders-1".into()),
        "{rows}"
    );
    // What is linked to is there: no link has a parameter that its document refuses.
    let links = chromium
        .eval("return Promise.all([...document.querySelectorAll('#documents a')].filter((link) => link.textContent !== 'metrics').map(async (link) => [link.textContent, (await fetch(link.href)).status]))")
        .await;
    for link in links.as_array().expect("a list") {
        assert_eq!(link[1], 200, "{link}");
    }
    chromium.judge(&site.url()).await;
}

#[tokio::test]
async fn a_service_that_is_not_there_is_told_with_those_that_are() {
    let site = Site::of(3).await;
    let chromium = Chromium::start().await;
    chromium.open(&format!("{}?service=nope", site.url())).await;
    chromium
        .until("document.querySelector('#lost a') && !document.querySelector('#lost').hidden")
        .await;
    assert_eq!(
        chromium.text("#lost").await,
        format!("There is no service nope here; there is: {SERVICE}.")
    );
    assert_eq!(chromium.text("#live-text").await, "no such service");
    chromium
        .element("#lost a")
        .await
        .click()
        .await
        .expect("it can be pressed");
    chromium.until(&format!("{ROWS} === 3")).await;
    chromium
        .until("document.querySelector('#lost').hidden")
        .await;
    // It is not judged: the browser notes the 404 on its console.
}
