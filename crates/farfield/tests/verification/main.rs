//! Figures against what others know of them: packets, theory, another reader; and models fitted to logs
//! against what made these.

mod accuracy;
mod captures;
mod fits;
mod flows;
mod http2;
mod parts;
mod planes;
mod planted;
mod rebuilt;
mod set_aside;
mod stages;
mod tls;
mod truth;

use farfield_testkit::scenes as common;
