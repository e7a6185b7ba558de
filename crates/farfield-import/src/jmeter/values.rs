//! Variables and functions of JMeter: `${name}`, `${__P(name,default)}`.

use crate::holes::{Notation, TextPart, Unknown, Variables, uuid};

/// Notation of variables in JMeter.
pub struct Dollar;

impl Notation for Dollar {
    fn next<'t>(&self, text: &'t str) -> Option<(usize, usize, &'t str)> {
        let mut from = 0;
        loop {
            let begin = from + text[from..].find("${")?;
            let mut open = 0_u32;
            for (at, letter) in text[begin + 2..].char_indices() {
                match letter {
                    '{' => open += 1,
                    '}' if open == 0 => {
                        let end = begin + 2 + at;
                        return Some((begin, end + 1, text[begin + 2..end].trim()));
                    }
                    '}' => open -= 1,
                    _ => {}
                }
                // No name is as long: an opening without an end is looked at no further.
                if at > 500 {
                    break;
                }
            }
            from = begin + 2;
        }
    }

    fn function(&self, inside: &str, variables: &Variables) -> Option<Result<Vec<TextPart>, Unknown>> {
        let call = inside.strip_prefix("__")?;
        let (name, arguments) = call.split_once('(').unwrap_or((call, ")"));
        let arguments: Vec<&str> =
            arguments.strip_suffix(')').unwrap_or(arguments).split(',').map(str::trim).collect();
        let argument = |at: usize| arguments.get(at).copied().unwrap_or_default();
        let unknown = || Err(Unknown::Function(inside.to_owned()));
        if arguments.iter().any(|own| own.contains("${")) {
            return Some(unknown());
        }
        let property = |default: Option<&str>| match (variables.given(argument(0)), default) {
            (Some(given), _) => Ok(vec![match crate::environment(given) {
                Some(own) => TextPart::Hole(format!("env.{own}")),
                None => TextPart::Text(given.to_owned()),
            }]),
            (None, Some(default)) => Ok(vec![TextPart::Text(default.to_owned())]),
            (None, None) => Err(Unknown::Variable(argument(0).to_owned())),
        };
        Some(match name {
            // Without a default it is 1.
            "P" => property(Some(arguments.get(1).copied().unwrap_or("1"))),
            "property" => property(arguments.get(2).copied()),
            "Random" => match (argument(0).parse::<i64>(), argument(1).parse::<i64>()) {
                (Ok(from), Ok(to)) if from <= to => Ok(vec![TextPart::Hole(format!("random({from},{to})"))]),
                _ => unknown(),
            },
            "UUID" => Ok(uuid()),
            _ => unknown(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Wishes;
    use crate::holes::template;
    use crate::text::literal;

    #[test]
    fn variables_and_functions_are_replaced() {
        let mut wishes = Wishes::default();
        wishes.values.insert("port".into(), "81".into());
        wishes.values.insert("token".into(), "${env.T}".into());
        let mut variables = Variables::new(&wishes);
        variables.set("host", "a-${__P(port,80)}$");
        variables.set("loop", "${loop}x");
        variables.find("user");
        let filled = |text: &str| Ok(template(&variables.parts(text, &Dollar)?, literal, "|url"));
        for (text, expected) in [
            ("${host} ${user}", "a-81$$ ${own-user|url}"),
            ("${__P(none,d)}${__P(none)}${__property(none,,e)}", "d1e"),
            ("${token} $x $", "${env.T|url} $$x $$"),
            ("${__Random(1,6,x)}", "${random(1,6)|url}"),
            ("${open", "$${open"),
        ] {
            assert_eq!(filled(text), Ok(expected.to_owned()), "{text}");
        }
        for (text, error) in [
            ("${none}", Unknown::Variable("none".into())),
            ("${__time()}", Unknown::Function("__time()".into())),
            ("${__P(a,${b})}", Unknown::Function("__P(a,${b})".into())),
            ("${loop}", Unknown::Endless),
        ] {
            assert_eq!(filled(text), Err(error), "{text}");
        }
    }

    /// Ten variables of ten references each stand for billions of texts.
    #[test]
    fn what_variables_stand_for_is_bounded() {
        let mut variables = Variables::new(&Wishes::default());
        variables.set("v0", "");
        for level in 1..8 {
            variables.set(&format!("v{level}"), &format!("${{v{}}}", level - 1).repeat(1000));
        }
        assert_eq!(variables.parts("${v7}", &Dollar), Err(Unknown::Endless));
        assert!(variables.parts(&"${".repeat(100_000), &Dollar).is_ok());
        variables.set("long", &"x".repeat(1 << 20));
        let all: Vec<_> = (0..100).map(|_| variables.parts("${long}", &Dollar)).collect();
        assert!(all[10].is_ok() && all[99] == Err(Unknown::Spent));
    }
}
