//! Books in the wiki's database: who wrote in which, and each text to the last byte.

use super::wiki::{BOOK, Wiki};

/// A reader's row: who, and of which book.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reader {
    pub name: String,
    pub book: String,
    pub word: String,
}

/// The rows of the readers' file. Its passwords have commas in them, and so are quoted.
pub fn readers(csv: &str) -> Vec<Reader> {
    let row = |line: &str| {
        let (name, rest) = line.split_once(",\"")?;
        let (_, rest) = rest.split_once("\",")?;
        let (book, word) = rest.split_once(',')?;
        Some(Reader { name: name.to_owned(), book: book.to_owned(), word: word.to_owned() })
    };
    csv.lines().skip(1).map(|line| row(line).unwrap_or_else(|| panic!("a reader's row: {line}"))).collect()
}

/// The readers and sessions that have written in one book, in order. Holds it to be as it was but for their
/// lines, and to have a revision of the same reader for each.
#[track_caller]
pub fn lines_of(wiki: &Wiki, book: &Reader) -> Vec<String> {
    let title = book.book.replace(' ', "_");
    let added = added(&wiki.ask(TEXTS), book, &title);
    let lines: Vec<String> = added.lines().skip(1).map(str::to_owned).collect();
    let revised = wiki.ask(REVISIONS).into_iter().filter_map(|revision| {
        let (name, page) = revision.split_once('\t')?;
        (page == title).then(|| name.to_owned())
    });
    let names = lines.iter().map(|line| {
        let rest = line.strip_prefix("* lent to ").unwrap_or_else(|| panic!("{title} was spoilt: {added}"));
        rest.split_once(" in session ").map_or_else(String::new, |(name, _)| name.to_owned())
    });
    assert!(names.eq(revised), "{lines:?}");
    lines
}

/// The text that was written at the end of a book, by the rows of [`TEXTS`].
#[track_caller]
fn added(texts: &[String], book: &Reader, title: &str) -> String {
    let text = texts.iter().find_map(|row| row.strip_prefix(&format!("{title}\t")));
    let text = from_hex(text.unwrap_or_else(|| panic!("no text of {title}")));
    let shelved = BOOK.replace("{word}", &book.word);
    let added = text.strip_prefix(&shelved);
    added.unwrap_or_else(|| panic!("{title} was spoilt: {text}")).to_owned()
}

/// Number of revisions by each of `readers`. Holds every revision to be of a reader's own book, and every
/// book to be as it was, with one more line at its end for each revision, all of different sessions.
#[track_caller]
pub fn written(wiki: &Wiki, readers: &[Reader]) -> Vec<usize> {
    let (revisions, texts) = (wiki.ask(REVISIONS), wiki.ask(TEXTS));
    let mut sessions: Vec<u64> = Vec::new();
    let mut counts = Vec::new();
    for reader in readers {
        let title = reader.book.replace(' ', "_");
        let of_reader = format!("{}\t{title}", reader.name);
        let count = revisions.iter().filter(|revision| **revision == of_reader).count();
        let text = added(&texts, reader, &title);
        let line = format!("\n* lent to {} in session ", reader.name);
        let [nothing, of_book @ ..] = &*text.split(&line).collect::<Vec<_>>() else { unreachable!("split") };
        assert_eq!((*nothing, of_book.len()), ("", count), "{title}: {text}");
        let number = |session: &&str| session.parse::<u64>().unwrap_or_else(|_| panic!("{title}: {text}"));
        sessions.extend(of_book.iter().map(number));
        counts.push(count);
    }
    let all = counts.iter().sum::<usize>();
    assert_eq!(all, revisions.len(), "somebody wrote elsewhere: {revisions:?}");
    sessions.sort_unstable();
    sessions.dedup();
    assert_eq!(sessions.len(), all, "a session wrote twice: {sessions:?}");
    counts
}

/// Author and page of each revision, but for those of the users who set the wiki up.
const REVISIONS: &str = "
select actor_name, page_title from wiki.revision join wiki.actor on actor_id = rev_actor
join wiki.page on page_id = rev_page where actor_name not in ('Librarian', 'MediaWiki default', 'Admin') order by rev_id";

/// The last text of each page, which the wiki keeps in a row `tt:ID` of its own.
const TEXTS: &str = "
select page_title, hex(old_text) from wiki.page join wiki.slots on slot_revision_id = page_latest
join wiki.content on content_id = slot_content_id join wiki.text on old_id = substr(content_address, 4)";

fn from_hex(digits: &str) -> String {
    let bytes = digits.as_bytes().chunks(2).map(|pair| {
        let pair = str::from_utf8(pair).expect("ASCII");
        u8::from_str_radix(pair, 16).expect("two digits")
    });
    String::from_utf8(bytes.collect()).expect("UTF-8")
}
