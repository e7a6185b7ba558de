//! MediaWiki as Debian packages it: PHP in Apache, MariaDB behind it, each a process of the test's own.
//!
//! The database is reached through a socket in the test's folder, so that Apache finds it from any network
//! namespace. Nothing of the machine's own configuration is read but the folder of PHP's modules, and nothing
//! of it is changed.

use crate::common::{Place, Process, Signal, poll, skip};
use std::fs::{self, File};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The folder of Debian's package.
const WIKI: &str = "/usr/share/mediawiki";
const APACHE_MODULES: &str = "/usr/lib/apache2/modules";

/// The text of each book; `{word}` stands for what finds it.
pub const BOOK: &str = include_str!("book.txt");

/// A wiki with accounts and books, and its database, which ends with it.
pub struct Wiki {
    // Fields are dropped in their order: the database ends before the folder goes that its data are in.
    database: Option<Process>,
    pub place: Place,
    programs: Programs,
    home: String,
}

/// Programs of a wiki, by their paths.
#[derive(Clone)]
struct Programs {
    apache: PathBuf,
    php: PathBuf,
    php_module: PathBuf,
    database: PathBuf,
    database_client: PathBuf,
    database_install: PathBuf,
}

impl Programs {
    /// `None`, and `test` is skipped, where a part is missing.
    fn find(test: &str) -> Option<Programs> {
        if !Path::new(WIKI).join("index.php").is_file() {
            skip(test, "mediawiki is not installed");
            return None;
        }
        let program = |name| crate::common::wan::find(test, name);
        let modules = fs::read_dir(APACHE_MODULES).into_iter().flatten().flatten().map(|entry| entry.path());
        let is_php = |path: &PathBuf| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libphp"))
        };
        let php_module = modules.filter(is_php).max();
        if php_module.is_none() {
            skip(test, "Apache's module of PHP is not installed");
        }
        Some(Programs {
            php_module: php_module?,
            apache: program("apache2")?,
            php: program("php")?,
            database: program("mariadbd")?,
            database_client: program("mariadb")?,
            database_install: program("mariadb-install-db")?,
        })
    }
}

/// A wiki as it was set up, with its database stopped: tests drive copies of it, as setting one up takes
/// seconds.
pub struct Original(Wiki);

impl Original {
    /// The place of the one that all tests share that hold it at a time, which goes with the last of them.
    pub fn shared() -> Arc<Mutex<Option<Original>>> {
        static SHARED: Mutex<Weak<Mutex<Option<Original>>>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().expect("nothing panics with it");
        shared.upgrade().unwrap_or_else(|| {
            let new = Arc::new(Mutex::new(None));
            *shared = Arc::downgrade(&new);
            new
        })
    }

    /// Sets up a wiki with an account and a book for each row of `users`.
    fn new(programs: Programs, users: &Path) -> Original {
        let mut wiki = Wiki::nowhere(programs);
        let mut install = Command::new(&wiki.programs.database_install);
        install
            .args(wiki.database_words())
            .args(["--auth-root-authentication-method=normal", "--skip-test-db"]);
        wiki.finish(install);
        wiki.start_database();
        wiki.install();
        wiki.populate(users);
        let mut database = wiki.database.take().expect("it was started");
        database.signal(Signal::TERM);
        assert!(database.wait().success(), "the database ended: {}", wiki.read("database.log"));
        Original(wiki)
    }
}

impl Wiki {
    /// A copy of `original`, which is set up first where it is not there yet; `None`, and `test` is skipped,
    /// where a part of it is not installed.
    pub fn new(test: &str, original: &Mutex<Option<Original>>, users: &Path) -> Option<Wiki> {
        let programs = Programs::find(test)?;
        let mut original = original.lock().unwrap_or_else(PoisonError::into_inner);
        let Original(original) = original.get_or_insert_with(|| Original::new(programs.clone(), users));
        let mut wiki = Wiki::nowhere(programs);
        let mut copy = Command::new("cp");
        copy.arg("-a").args(["database", "cache"].map(|folder| original.place.path(folder))).arg(&wiki.home);
        wiki.finish(copy);
        wiki.configure("LocalSettings.php", include_str!("LocalSettings.php"));
        wiki.start_database();
        Some(wiki)
    }

    /// A wiki of which there is nothing yet.
    fn nowhere(programs: Programs) -> Wiki {
        let place = Place::new();
        let home = place.path("").to_str().expect("a plain path").trim_end_matches('/').to_owned();
        Wiki { database: None, place, programs, home }
    }

    /// Arguments of the database's programs.
    fn database_words(&self) -> Vec<String> {
        let config = self.configure("database.cnf", include_str!("database.cnf"));
        let mut words = vec![format!("--defaults-file={}", config.display())];
        if rustix::process::geteuid().is_root() {
            // It refuses to run as root without this.
            words.push("--user=root".to_owned());
        }
        words
    }

    fn start_database(&mut self) {
        let mut database = Command::new(&self.programs.database);
        database.args(self.database_words());
        database.stdout(self.output("database")).stderr(self.output("database"));
        let mut process = Process::start(&mut database, &self.place);
        poll("the database to listen", || {
            assert!(process.ended().is_none(), "the database ended: {}", self.read("database.log"));
            std::os::unix::net::UnixStream::connect(self.place.path("database.socket")).ok()
        });
        self.database = Some(process);
    }

    /// The tables, by the wiki's own installer, and then the test's settings in the place of those that it
    /// wrote.
    fn install(&self) {
        self.ask(
            "create user wiki@localhost identified by 'wiki'; create database wiki character set binary; \
             grant all on wiki.* to wiki@localhost",
        );
        let cache = self.place.path("cache");
        fs::create_dir(&cache).expect("own folder");
        // Apache's processes give up their rights, and write there.
        fs::set_permissions(cache, fs::Permissions::from_mode(0o777)).expect("own folder");
        let socket = format!("localhost:{}/database.socket", self.home);
        let mut install = self.php("maintenance/install.php");
        install
            .args(["--dbtype", "mysql", "--dbname", "wiki", "--dbuser", "wiki", "--dbpass", "wiki"])
            .args(["--dbserver", &socket, "--confpath", &self.home, "--scriptpath", "", "--lang", "en"])
            .args(["--server", "http://wiki.example", "--pass", "a long one", "Lending library", "Admin"]);
        self.finish(install);
        self.configure("LocalSettings.php", include_str!("LocalSettings.php"));
    }

    fn populate(&self, users: &Path) {
        let script = self.configure("populate.php", include_str!("populate.php"));
        let text = self.place.write("book.txt", BOOK);
        let mut populate = self.php(&script);
        populate.args([users, &text]);
        self.finish(populate);
    }

    /// PHP about to run a script, by its path or that in the wiki.
    fn php(&self, script: impl AsRef<Path>) -> Command {
        let mut php = Command::new(&self.programs.php);
        php.arg(Path::new(WIKI).join(script)).env("MW_CONFIG_FILE", self.place.path("LocalSettings.php"));
        php
    }

    /// Writes a file of the test's own from its template.
    fn configure(&self, name: &str, template: &str) -> PathBuf {
        let php = self.programs.php_module.to_str().expect("a plain path");
        let text =
            template.replace("{home}", &self.home).replace("{php}", php).replace("{key}", &KEY.repeat(8));
        self.place.write(name, text)
    }

    fn output(&self, name: &str) -> File {
        let path = self.place.path(&format!("{name}.log"));
        File::options().create(true).append(true).open(path).expect("own file")
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.place.path(name)).unwrap_or_default()
    }

    /// Runs a command of the setting-up to its end.
    #[track_caller]
    fn finish(&self, mut command: Command) {
        command.current_dir(self.place.path("")).stdin(Stdio::null());
        let ended = command.stdout(self.output("install")).stderr(self.output("install")).status();
        let ended = ended.unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
        assert!(ended.success(), "{command:?}: {}", self.read("install.log"));
    }

    /// The database's answer: rows, and columns parted by tabs.
    #[track_caller]
    pub fn ask(&self, statements: &str) -> Vec<String> {
        let mut client = Command::new(&self.programs.database_client);
        let config = format!("--socket={}/database.socket", self.home);
        client.args(["--no-defaults", &config, "--user=root", "--default-character-set=binary"]);
        client.args(["--batch", "--skip-column-names", "--execute", statements]);
        let output = client.output().expect("the database's client");
        assert!(output.status.success(), "{statements}: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        text.lines().map(str::to_owned).collect()
    }

    /// Apache on a free port of loopback.
    pub fn serve(&self) -> Served {
        // Another program may take the port between its choice and its use.
        let served = (0..3).find_map(|_| self.try_serve());
        served.unwrap_or_else(|| panic!("Apache does not start: {}", self.read("error.log")))
    }

    fn try_serve(&self) -> Option<Served> {
        let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = free.local_addr().expect("it is bound");
        drop(free);
        let [program, words @ ..] = self.apache(&address.to_string());
        let mut command = Command::new(program);
        command.args(words).env("MW_CONFIG_FILE", self.place.path("LocalSettings.php"));
        // Ended by a signal, prefork signals its whole process group; that must not be the tests'.
        let mut process = Process::start(command.process_group(0), &self.place);
        let up = poll("Apache to listen", || match TcpStream::connect(address) {
            Ok(_) => Some(true),
            Err(_) => process.ended().map(|_| false),
        });
        up.then(|| Served { _process: process, url: format!("http://{address}/") })
    }

    /// The words that start Apache in the foreground, listening where `listen` says.
    fn apache(&self, listen: &str) -> [String; 6] {
        let template = include_str!("apache.conf").replace("{listen}", listen);
        let config = self.configure("apache.conf", &template).display().to_string();
        let program = self.programs.apache.display().to_string();
        [program, "-d".into(), self.home.clone(), "-f".into(), config, "-DFOREGROUND".into()]
    }

    /// The `[server]` table of a scenario on the emulated plane: the same Apache, in a network namespace.
    pub fn emulated_server(&self) -> String {
        let words = self.apache("80").map(|word| format!("'{word}'")).join(", ");
        let settings = self.place.path("LocalSettings.php");
        format!(
            "[server]\ncommand = [{words}]\nready = 'tcp:80'\nenvironment = {{ MW_CONFIG_FILE = '{}' }}\n",
            settings.display()
        )
    }

    /// Requests to Apache: the status, the method and the path of each.
    pub fn log(&self) -> Vec<String> {
        // Apache also asks itself, to wake processes that are to end.
        let asked = |line: &&str| !line.contains(" OPTIONS ");
        self.read("access.log").lines().filter(asked).map(str::to_owned).collect()
    }
}

/// A part of the key under which the wiki signs.
const KEY: &str = "lighthouse";

/// Apache, which ends when this is dropped.
pub struct Served {
    _process: Process,
    /// `http://` and the address, and the root's path.
    pub url: String,
}
