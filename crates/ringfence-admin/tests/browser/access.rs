//! For whom the page is: people with keyboards, phones, and eyes of any kind.

use fantoccini::key::Key;
use serde_json::{Value, json};

use crate::{
    chromium::Chromium,
    site::{SERVICE, Site, instance},
};

/// Contrast of the colours of elements against what is behind them, by the formula of WCAG 2; the smallest for each selector.
const CONTRAST: &str = r"
const canvas = document.createElement('canvas');
canvas.width = canvas.height = 1;
const context = canvas.getContext('2d', { willReadFrequently: true });
const channels = (colour) => {
  context.clearRect(0, 0, 1, 1);
  context.fillStyle = colour;
  context.fillRect(0, 0, 1, 1);
  return [...context.getImageData(0, 0, 1, 1).data];
};
const light = (colour) => {
  const [r, g, b] = channels(colour).slice(0, 3).map((c) => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = (element) => {
  for (let on = element; on; on = on.parentElement) {
    const colour = getComputedStyle(on).backgroundColor;
    if (channels(colour)[3] === 255) return colour;
  }
  return 'white';
};
const ratio = (element) => {
  const [a, b] = [light(getComputedStyle(element).color), light(behind(element))].sort((x, y) => y - x);
  return (a + 0.05) / (b + 0.05);
};
const found = {};
for (const selector of ['body', 'h1', 'h2', '.muted', '.badge', 'a', 'button', 'input', 'td', 'th', 'dt', 'dd', 'summary', '#answer', '.what', '.plus', '.minus', 'label']) {
  const all = [...document.querySelectorAll(selector)].filter((element) => element.offsetParent !== null || selector === 'body');
  if (all.length > 0) found[selector] = Math.min(...all.map(ratio));
}
return found;
";

#[tokio::test]
async fn a_key_is_explained_with_the_keyboard_alone() {
    let site = Site::of(3).await;
    let chromium = Chromium::start().await;
    chromium.open(&site.url()).await;
    chromium
        .until("document.querySelectorAll('#instance-rows tr').length === 3")
        .await;
    let focused = "document.activeElement";
    // From the top, by nothing but the Tab key.
    let body = chromium.element("body").await;
    body.send_keys(&Key::Tab.to_string())
        .await
        .expect("pressed");
    assert_eq!(
        chromium.eval(&format!("return {focused}.className")).await,
        "skip"
    );
    for _ in 0..40 {
        if chromium.eval(&format!("return {focused}.id")).await == "key" {
            break;
        }
        press(&chromium, Key::Tab).await;
    }
    assert_eq!(
        chromium.eval(&format!("return {focused}.id")).await,
        "key",
        "the Tab key leads to the field"
    );
    let outline = chromium
        .eval(&format!("return getComputedStyle({focused}).outlineStyle"))
        .await;
    assert_eq!(outline, "solid", "one sees where the focus is");
    type_in(&chromium, "alice").await;
    press(&chromium, Key::Enter).await;
    chromium.until("document.querySelector('#answer')").await;
    assert_eq!(
        chromium.text("#answer").await,
        format!("Goes to {}", site.owner("alice"))
    );
    assert_eq!(chromium.eval("return document.querySelector('#answer').closest('[aria-live]').getAttribute('aria-live')").await, "polite");
    // The list of instances is one stop, in which the arrows go; whose arcs are shown goes along.
    for _ in 0..40 {
        if chromium
            .eval(&format!(
                "return Boolean({focused}.closest('#instance-rows'))"
            ))
            .await
            == true
        {
            break;
        }
        press(&chromium, Key::Tab).await;
    }
    let on = format!("return {focused}.textContent");
    let first = chromium.eval(&on).await;
    press(&chromium, Key::Down).await;
    let second = chromium.eval(&on).await;
    assert_ne!(first, second);
    let id = second.as_str().expect("text");
    assert!(
        chromium
            .text("#ring-detail")
            .await
            .starts_with(&format!("{id}: usable"))
    );
    chromium
        .until(&format!(
            "document.querySelector('#ring path.shown').dataset.id === {id:?}"
        ))
        .await;
    // What is shown goes on, and the focus stays where it is.
    site.registry
        .set_weight(SERVICE, "orders-3", 300)
        .expect("it is there");
    chromium.until("document.querySelector('tr[data-id=orders-3] [data-label=Weight]').textContent === '300'").await;
    assert_eq!(chromium.eval(&on).await, second);
    chromium.judge(&site.url()).await;
}

async fn press(chromium: &Chromium, key: Key) {
    type_in(chromium, &key.to_string()).await;
}

async fn type_in(chromium: &Chromium, text: &str) {
    let active = chromium
        .page
        .active_element()
        .await
        .expect("something has the focus");
    active.send_keys(text).await.expect("it takes keys");
}

#[tokio::test]
async fn a_phone_has_no_sideways_scrolling() {
    let site = Site::of(0).await;
    let chromium = Chromium::start().await;
    let long = "a-service-instance-with-a-name-that-is-much-longer-than-a-phone-is-wide-0123456789";
    for count in [0, 1, 3, 30] {
        let mut instances: Vec<_> = (0..count)
            .map(|n| instance(&format!("orders-{n}"), n).build().expect("legal"))
            .collect();
        if count == 3 {
            instances.push(
                instance(long, 200)
                    .version("2026-11-30-0123456789abcdef")
                    .build()
                    .expect("legal"),
            );
        }
        let shown = instances.len();
        site.registry.replace(SERVICE, instances);
        for width in [360, 390, 768] {
            chromium.resize(width, 800).await;
            chromium.open(&site.url()).await;
            if count > 0 {
                chromium
                    .until(&format!(
                        "document.querySelectorAll('#instance-rows tr').length === {shown}"
                    ))
                    .await;
                chromium.explain("alice").await;
            } else {
                chromium
                    .until("document.querySelector('#phase').dataset.kind !== 'idle'")
                    .await;
            }
            // A bar for scrolling down takes some of the width.
            let wide = chromium.eval("const { scrollWidth, clientWidth } = document.documentElement; return [scrollWidth <= clientWidth, innerWidth]").await;
            assert_eq!(wide, json!([true, width]), "{count} instances");
        }
    }
}

#[tokio::test]
async fn light_and_dark_differ_and_both_can_be_read() {
    let site = Site::of(6).await;
    site.registry
        .set_enabled(SERVICE, "orders-1", false)
        .expect("it is there");
    site.registry
        .deregister(SERVICE, "orders-6")
        .expect("it is there");
    site.fail("orders-2");
    let chromium = Chromium::start().await;
    let mut grounds = Vec::new();
    for scheme in ["light", "dark"] {
        chromium.prefer(scheme).await;
        chromium.open(&site.url()).await;
        // Badges of all kinds are there.
        chromium.until("['good', 'bad', 'idle'].every((kind) => document.querySelector(`#instance-rows .badge[data-kind=${kind}]`))").await;
        chromium.until("document.querySelector('.minus')").await;
        chromium.explain("alice").await;
        let ratios = chromium.eval(CONTRAST).await;
        let ratios = ratios.as_object().expect("an object");
        assert!(ratios.len() > 12, "{ratios:?}");
        for (selector, ratio) in ratios {
            let ratio = ratio.as_f64().expect("a number");
            assert!(
                ratio >= 4.5,
                "{scheme}: {selector} has a contrast of {ratio:.2}"
            );
        }
        grounds.push(
            chromium
                .eval("return getComputedStyle(document.body).backgroundColor")
                .await,
        );
    }
    assert_ne!(grounds[0], grounds[1]);
    chromium.judge(&site.url()).await;
}

#[tokio::test]
async fn everything_has_a_name() {
    let site = Site::of(3).await;
    let chromium = Chromium::start().await;
    chromium.open(&site.url()).await;
    chromium
        .until("document.querySelectorAll('#instance-rows tr').length === 3")
        .await;
    let nameless = chromium.eval(r"
        const named = (element) => element.textContent.trim() || element.getAttribute('aria-label') || (element.labels && element.labels.length > 0);
        return [...document.querySelectorAll('button, input, select, textarea, a, summary')].filter((element) => !named(element)).map((element) => element.outerHTML);
    ").await;
    assert_eq!(nameless, json!([]));
    let once = chromium.eval(r"
        const ids = [...document.querySelectorAll('[id]')].map((element) => element.id);
        const referred = [...document.querySelectorAll('[aria-labelledby], [aria-describedby], label[for]')].flatMap((element) => ['aria-labelledby', 'aria-describedby', 'for'].flatMap((name) => (element.getAttribute(name) || '').split(' ').filter(Boolean)));
        return [ids.length === new Set(ids).size, referred.filter((id) => !document.getElementById(id)), document.documentElement.lang, document.querySelectorAll('main').length, document.querySelectorAll('h1').length];
    ").await;
    assert_eq!(once, json!([true, [], "en", 1, 1]));
    let unnamed_regions: Value = chromium.eval("return [...document.querySelectorAll('section, [role=region]')].filter((region) => !region.getAttribute('aria-label') && !region.getAttribute('aria-labelledby')).length").await;
    assert_eq!(unnamed_regions, 0);
}
