// The token, by which farfield knows its user. It comes behind the # of the URL that farfield printed, which a browser
// sends to nobody; it is kept for this tab, and goes out as Authorization, to this server alone. A cookie would go to
// every server of the machine, whatever its port.

let token = null;
try {
  token = sessionStorage.getItem("token");
} catch {
  // A browser that keeps nothing: the token lasts as long as the page.
}

function keep(given) {
  token = given;
  try {
    sessionStorage.setItem("token", given);
  } catch {
    // As above.
  }
}

/** Takes a token out of a URL's fragment, `#token=…` or `#token=…&new`; returns the rest, or null if there is none. */
function fragmentOf(fragment) {
  const found = /^#?token=([0-9a-f]+)&?(.*)$/.exec(fragment);
  if (!found) return null;
  keep(found[1]);
  return found[2];
}

/** Takes the token out of the address, where it stays neither in the bar nor behind the back button. */
export function takeFromAddress() {
  const rest = fragmentOf(location.hash);
  if (rest === null) return false;
  history.replaceState(null, "", location.pathname + (rest ? `#${rest}` : ""));
  return true;
}

/** Takes the token of a URL that was pasted, or a token alone; returns whether there is one. */
export function takeFromText(text) {
  const given = text.trim();
  return fragmentOf(given.slice(given.indexOf("#") + 1)) !== null || fragmentOf(`token=${given}`) !== null;
}

export const hasToken = () => token !== null;

/** Asks this server, with the token. */
export function request(path, options = {}) {
  const headers = token === null ? options.headers : { ...options.headers, Authorization: `Bearer ${token}` };
  return fetch(path, { ...options, headers, credentials: "omit", redirect: "error", referrerPolicy: "no-referrer" });
}

// Tabs of this server tell each other the token, so that a link may be opened in a new one. Only pages of the same
// address and port hear it.
const tabs = typeof BroadcastChannel === "function" ? new BroadcastChannel("token") : null;
let isValid = false;
/** Notes that the server takes the token: other tabs may have it. */
export function noteValid() {
  isValid = true;
}
tabs?.addEventListener("message", ({ data }) => {
  if (data?.wanted && isValid) tabs.postMessage({ token });
});

/** Asks the other tabs for a token other than this tab's; returns whether there was one. */
export function askTabs() {
  isValid = false;
  return new Promise((answer) => {
    if (!tabs) return answer(false);
    const done = (found) => {
      clearTimeout(timer);
      tabs.removeEventListener("message", listen);
      answer(found);
    };
    const listen = ({ data }) => {
      if (typeof data?.token !== "string" || data.token === token) return;
      keep(data.token);
      done(true);
    };
    const timer = setTimeout(() => done(false), 500);
    tabs.addEventListener("message", listen);
    tabs.postMessage({ wanted: true });
  });
}
