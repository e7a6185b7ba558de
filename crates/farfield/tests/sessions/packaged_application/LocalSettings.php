<?php
// MediaWiki as the test serves it: accounts, sessions and pages in the database, nothing but translations cached.
if ( !defined( 'MEDIAWIKI' ) ) {
	exit;
}
$wgSitename = 'Lending library';
$wgScriptPath = '';
$wgResourceBasePath = '';
// Redirects lead to the name that the client asked for, with its port, even if that is 80.
$wgServer = WebRequest::detectServer();
$wgDBtype = 'mysql';
$wgDBserver = 'localhost:{home}/database.socket';
$wgDBname = 'wiki';
$wgDBuser = 'wiki';
$wgDBpassword = 'wiki';
$wgDBTableOptions = 'ENGINE=InnoDB, DEFAULT CHARSET=binary';
$wgSecretKey = '{key}';
$wgCacheDirectory = '{home}/cache';
$wgEnableEmail = false;
// Passwords and sessions are hashed once: tens of thousands of times, as is right for secrets, took most of the time.
$wgPasswordConfig['pbkdf2']['cost'] = 1;
$wgSessionPbkdf2Iterations = 1;
// What a request leaves to do later stays undone: nothing here depends on it.
$wgJobRunRate = 0;
// Only who is known may change a page.
$wgGroupPermissions['*']['edit'] = false;
$wgDefaultSkin = 'vector';
wfLoadSkin( 'Vector' );
