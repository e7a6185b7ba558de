//! Forms of a page: what a browser would send for one that is filled in (WHATWG HTML section 4.10.22).
//!
//! Not done: images as buttons, buttons that say how or where to send, fields that stand outside of their
//! form.

use super::encoding::{EncodedField, Encoding, FileHeader};
use super::html::parse;
use farfield_base::random::Stream;
use farfield_traffic::session::FormOf;
use farfield_traffic::session::extract::Pick;
use farfield_traffic::session::query::{Css, Lookup};
use lol_html::ElementContentHandlers;
use lol_html::html_content::{Element, TextChunk};
use rand::RngExt;
use std::cell::{Cell, RefCell};

/// A form as it stood in a page.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Form {
    /// Action as written: the URL that it is sent to; nothing for the page's own place.
    pub action: Option<String>,
    /// True if the form is sent with POST.
    pub post: bool,
    /// The encoding with POST.
    pub encoding: Encoding,
    /// The fields that would be sent, in order.
    fields: Vec<Field>,
    /// Names and values of its buttons.
    buttons: Vec<(String, String)>,
}

/// A field as it stood in a form.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Field {
    name: String,
    value: String,
    /// The field takes a file.
    file: bool,
}

/// Selectors of a form and of what is in it.
#[derive(Debug, Clone)]
pub(crate) struct FormParts {
    form: Css,
    input: Css,
    button: Css,
    textarea: Css,
    select: Css,
    option: Css,
}

impl FormParts {
    /// Parts of a form whose selector is the same each time.
    pub fn fixed(form: &FormOf) -> Option<FormParts> {
        match &form.select {
            Lookup::Fixed(css) => Some(FormParts::of(css)),
            Lookup::Varying(_) => None,
        }
    }

    /// Parts of the form that `select` does.
    pub fn of(select: &Css) -> FormParts {
        FormParts {
            form: select.clone(),
            input: select.inside("input"),
            button: select.inside("button"),
            textarea: select.inside("textarea"),
            select: select.inside("select"),
            option: select.inside("option"),
        }
    }
}

/// A form while it is read. Only the one that is wanted counts.
#[derive(Default)]
struct FormReading {
    /// Number of the form that is wanted, from 1.
    wanted: usize,
    forms: usize,
    form: Form,
    /// The select whose options come.
    select: Option<Select>,
    /// The field whose value the text is that comes.
    text: Option<usize>,
}

struct Select {
    /// Nothing if it would not be sent.
    name: Option<String>,
    multiple: bool,
    /// Place of its first field.
    place: usize,
    /// True if one of the options was selected.
    chosen: bool,
}

impl Form {
    /// Finds the form that `pick` says among those that `parts` select in `html`, if there is one.
    pub fn find(html: &[u8], parts: &FormParts, pick: Pick, rng: &mut Stream) -> Option<Form> {
        let number = match pick {
            Pick::Nth(number) => number.get() as usize,
            Pick::Random => match count(html, &parts.form) {
                0 => return None,
                forms => rng.random_range(1..=forms),
            },
        };
        Form::nth(html, parts, number)
    }

    /// The form of this number, from 1, of those that `parts` select in `html`.
    fn nth(html: &[u8], parts: &FormParts, wanted: usize) -> Option<Form> {
        let reading = RefCell::new(FormReading { wanted, ..FormReading::default() });
        let on = |handle: fn(&mut FormReading, &Element<'_, '_>)| {
            let reading = &reading;
            ElementContentHandlers::default().element(move |element: &mut Element<'_, '_>| {
                handle(&mut reading.borrow_mut(), element);
                Ok(())
            })
        };
        let text = |text: &mut TextChunk<'_>| {
            reading.borrow_mut().text(text.as_str());
            Ok(())
        };
        let handlers = [
            (&parts.form, on(FormReading::form)),
            (&parts.input, on(FormReading::input)),
            (&parts.button, on(FormReading::button)),
            (&parts.textarea, on(FormReading::textarea).text(text)),
            (&parts.select, on(FormReading::select)),
            (&parts.option, on(FormReading::option).text(text)),
        ];
        // HTML that cannot be parsed to its end is as good as the part that was read.
        let _ = parse(html, handlers);
        let FormReading { forms, mut form, .. } = reading.into_inner();
        for Field { value, .. } in &mut form.fields {
            if let Some(text) = value.strip_prefix(UNDECODED) {
                *value = htmlize::unescape(text.trim()).into_owned();
            } else if let Some(text) = value.strip_prefix(VERBATIM) {
                // A line break right behind the tag is not part of the text (HTML section 13.2.6.4.7).
                let text = text.strip_prefix("\r\n").or_else(|| text.strip_prefix('\n')).unwrap_or(text);
                *value = htmlize::unescape(text).into_owned();
            }
        }
        (forms >= wanted).then_some(form)
    }

    /// The entries that are sent, in order, with what was `given` in place of what it has, without the fields
    /// `left_out`, and with the button that is pressed.
    pub fn entries<'a>(
        &'a self,
        given: &[EncodedField<'a>],
        left_out: &[String],
        submit: Option<&'a str>,
    ) -> Vec<EncodedField<'a>> {
        let mut entries = Vec::with_capacity(self.fields.len() + given.len() + 1);
        // In one pass, however many fields a page has.
        let mut stood = vec![false; given.len()];
        for field in self.fields.iter().filter(|field| !left_out.contains(&field.name)) {
            match given.iter().position(|entry| entry.name == field.name) {
                // Given entries take the place of all of their name.
                Some(place) if stood[place] => {}
                Some(_) => {
                    for (entry, stood) in
                        given.iter().zip(&mut stood).filter(|(entry, _)| entry.name == field.name)
                    {
                        *stood = true;
                        entries.push(entry.clone());
                    }
                }
                None => entries.push(field.entry()),
            }
        }
        entries
            .extend(given.iter().zip(&stood).filter(|(_, stood)| !**stood).map(|(entry, _)| entry.clone()));
        if let Some(name) = submit {
            let button = self.buttons.iter().find(|(own, _)| own == name);
            let value = button.map_or(&[][..], |(_, value)| value.as_bytes()).into();
            entries.push(EncodedField { name, value, file: None });
        }
        entries
    }
}

/// The number of elements that are selected.
fn count(html: &[u8], select: &Css) -> usize {
    let found = Cell::new(0);
    let handler = ElementContentHandlers::default().element(|_: &mut Element<'_, '_>| {
        found.set(found.get() + 1);
        Ok(())
    });
    let _ = parse(html, [(select, handler)]);
    found.get()
}

impl Form {
    /// The names that a state fills in, leaves out or presses and that are no field or button of it.
    pub fn unknown<'a>(&self, given: &'a FormOf) -> Vec<&'a str> {
        let is_field = |name: &&str| self.fields.iter().any(|field| field.name == **name);
        let is_button = |name: &&str| self.buttons.iter().any(|(own, _)| own == *name);
        let filled = given.fields.iter().map(|(name, _)| name);
        let files = given.files.iter().map(|(name, _)| name);
        let fields = filled.chain(files).chain(&given.left_out).map(String::as_str);
        let mut unknown: Vec<&str> = fields.filter(|name| !is_field(name)).collect();
        unknown.extend(given.submit.as_deref().filter(|name| !is_button(name)));
        unknown.dedup();
        unknown
    }

    /// The names of its fields and buttons.
    pub fn names(&self) -> Vec<&str> {
        let fields = self.fields.iter().map(|field| field.name.as_str());
        fields.chain(self.buttons.iter().map(|(name, _)| name.as_str())).collect()
    }
}

impl Field {
    /// As it is sent where nothing is given.
    fn entry(&self) -> EncodedField<'_> {
        let Field { name, value, file } = self;
        EncodedField { name, value: value.as_bytes().into(), file: file.then_some(FileHeader::NONE) }
    }
}

/// Marks a value that was read as text and is still as it was written.
const UNDECODED: char = '\u{1}';
/// A value of which no blank may be lost.
const VERBATIM: char = '\u{2}';

impl FormReading {
    fn form(&mut self, element: &Element<'_, '_>) {
        self.forms += 1;
        if self.forms == self.wanted {
            self.form.action = attribute(element, "action").filter(|action| !action.trim().is_empty());
            self.form.post =
                attribute(element, "method").is_some_and(|method| method.eq_ignore_ascii_case("post"));
            self.form.encoding = Encoding::of(attribute(element, "enctype").as_deref());
        }
    }

    /// The name of a field that would be sent.
    fn name(&self, element: &Element<'_, '_>) -> Option<String> {
        let counts = self.forms == self.wanted && !element.has_attribute("disabled");
        attribute(element, "name").filter(|name| counts && !name.is_empty())
    }

    fn field(&mut self, name: String, value: String) {
        self.form.fields.push(Field { name, value, file: false });
    }

    fn input(&mut self, element: &Element<'_, '_>) {
        self.text = None;
        let Some(name) = self.name(element) else { return };
        let kind = attribute(element, "type").unwrap_or_default().to_ascii_lowercase();
        let value = attribute(element, "value");
        match kind.as_str() {
            "submit" => self.form.buttons.push((name, value.unwrap_or_default())),
            "button" | "reset" | "image" => {}
            "file" => self.form.fields.push(Field { name, file: true, ..Field::default() }),
            "checkbox" | "radio" => {
                if element.has_attribute("checked") {
                    self.field(name, value.unwrap_or_else(|| "on".to_owned()));
                }
            }
            _ => self.field(name, value.unwrap_or_default()),
        }
    }

    fn button(&mut self, element: &Element<'_, '_>) {
        let kind = attribute(element, "type").unwrap_or_default();
        if let Some(name) = self.name(element)
            && (kind.is_empty() || kind.eq_ignore_ascii_case("submit"))
        {
            self.form.buttons.push((name, attribute(element, "value").unwrap_or_default()));
        }
    }

    fn textarea(&mut self, element: &Element<'_, '_>) {
        self.text = None;
        if let Some(name) = self.name(element) {
            self.field(name, VERBATIM.to_string());
            self.text = Some(self.form.fields.len() - 1);
        }
    }

    fn select(&mut self, element: &Element<'_, '_>) {
        self.text = None;
        self.select = Some(Select {
            name: self.name(element),
            multiple: element.has_attribute("multiple"),
            place: self.form.fields.len(),
            chosen: false,
        });
    }

    /// The option that is selected or, of those that allow one alone, the first.
    fn option(&mut self, element: &Element<'_, '_>) {
        self.text = None;
        let Some(Select { name: Some(name), multiple, place, chosen }) = &mut self.select else { return };
        if element.has_attribute("disabled") || self.forms != self.wanted {
            return;
        }
        let selected = element.has_attribute("selected");
        let first = self.form.fields.len() == *place && !*multiple;
        if !selected && !first {
            return;
        }
        if selected && !*multiple && !*chosen {
            // The first stood in for the one that is selected.
            self.form.fields.truncate(*place);
        }
        *chosen |= selected;
        let value = attribute(element, "value");
        let by_text = value.is_none();
        let name = name.clone();
        self.field(name, value.unwrap_or_else(|| UNDECODED.to_string()));
        if by_text {
            self.text = Some(self.form.fields.len() - 1);
        }
    }

    fn text(&mut self, text: &str) {
        if let Some(place) = self.text
            && let Some(field) = self.form.fields.get_mut(place)
        {
            field.value.push_str(text);
        }
    }
}

fn attribute(element: &Element<'_, '_>, name: &str) -> Option<String> {
    element.get_attribute(name).map(|value| htmlize::unescape_attribute(&value).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::BytesMut;

    fn form(html: &str, select: &str) -> Option<Form> {
        let css = Css::try_from(select.to_owned()).expect("a selector");
        Form::nth(html.as_bytes(), &FormParts::of(&css), 1)
    }

    fn sent(html: &str, given: &[(&'static str, &'static str)], submit: Option<&str>) -> String {
        let entry = |(name, value): &(&'static str, &'static str)| EncodedField {
            name,
            value: value.as_bytes().into(),
            file: None,
        };
        let given: Vec<EncodedField<'_>> = given.iter().map(entry).collect();
        let mut out = BytesMut::new();
        let form = form(html, "form").expect("a form");
        form.encoding.write(&form.entries(&given, &[], submit), &mut out);
        String::from_utf8(out.to_vec()).expect("ASCII")
    }

    const FORM: &str = "<form method=post action='/do?x=1&amp;y=2'><input type=hidden name=t value='a&amp;b'>\
        <input name=user><input type=checkbox name=c1 checked><input type=checkbox name=c2 value=v>\
        <input type=radio name=r value=1><input type=radio name=r value=2 checked><textarea name=note>\
        x &lt; y</textarea><select name=s><option value=a>A<option value=b selected>B</select>\
        <select name=u><option> first </option><option>second</option></select><input name=off disabled>\
        <input type=file name=f><input type=submit name=go value=Go><button name=stop value=no>Stop</button></form>\
        <form><input name=other value=1></form>";

    #[test]
    fn a_form_is_sent_as_a_browser_would() {
        let read = form(FORM, "form").expect("a form");
        assert_eq!((read.action.as_deref(), read.post), (Some("/do?x=1&y=2"), true));
        assert_eq!(sent(FORM, &[], None), "t=a%26b&user=&c1=on&r=2&note=x+%3C+y&s=b&u=first&f=");
        assert_eq!(
            sent(FORM, &[("user", "ann b"), ("s", "c"), ("new", "1")], Some("go")),
            "t=a%26b&user=ann+b&c1=on&r=2&note=x+%3C+y&s=c&u=first&f=&new=1&go=Go"
        );
        assert!(sent(FORM, &[], Some("stop")).ends_with("&stop=no"));
    }

    #[test]
    fn a_text_goes_back_as_it_came() {
        let html = "<form><textarea name=note>\n  a &amp;amp;\nb \n</textarea></form>";
        assert_eq!(sent(html, &[], None), "note=++a+%26amp%3B%0D%0Ab+%0D%0A");
    }

    /// A file that was not chosen is sent as one without a name and without bytes.
    #[test]
    fn a_form_says_how_it_is_sent() {
        let html = FORM.replace("<form method", "<form enctype=multipart/form-data method");
        let sent = sent(&html, &[("user", "ann")], Some("go"));
        let parts: Vec<&str> =
            sent.split("------farfield-form-0\r\nContent-Disposition: form-data; ").collect();
        assert_eq!((parts[0], parts[2]), ("", "name=\"user\"\r\n\r\nann\r\n"));
        assert_eq!(
            parts[8],
            "name=\"f\"; filename=\"\"\r\nContent-Type: application/octet-stream\r\n\r\n\r\n"
        );
        assert_eq!(parts[9], "name=\"go\"\r\n\r\nGo\r\n------farfield-form-0--\r\n");
        assert_eq!(parts.len(), 10);
    }

    #[test]
    fn the_first_that_is_selected_counts() {
        assert_eq!(form("<p>", "form"), None);
        let two = "<form id=a action=/a></form><form id=b><input name=x value=1></form>";
        assert_eq!(
            form(two, "form#b").map(|form| (form.action, form.post, form.fields.len())),
            Some((None, false, 1))
        );
        assert_eq!(form(two, "form#c, #a").and_then(|form| form.action).as_deref(), Some("/a"));
    }
}
