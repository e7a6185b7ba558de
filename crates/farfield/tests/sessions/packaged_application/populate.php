<?php
// Fills a new wiki: for each row of a CSV file (name,password,book,word) an account, and a book that the word finds.
require_once '/usr/share/mediawiki/maintenance/Maintenance.php';

use MediaWiki\MediaWikiServices;

class Populate extends Maintenance {
	public function __construct() {
		parent::__construct();
		$this->addArg( 'users', 'the CSV file' );
		$this->addArg( 'text', 'a file with the text of every book; {word} stands for its word' );
	}

	public function execute() {
		$factory = MediaWikiServices::getInstance()->getWikiPageFactory();
		$librarian = User::newSystemUser( 'Librarian', [ 'steal' => true ] );
		$text = file_get_contents( $this->getArg( 1 ) );
		$rows = fopen( $this->getArg( 0 ), 'r' );
		$columns = fgetcsv( $rows, null, ',', '"', '' );
		while ( $values = fgetcsv( $rows, null, ',', '"', '' ) ) {
			$row = array_combine( $columns, $values );
			$user = User::createNew( $row['name'] );
			$password = $row['password'];
			$done = $user->changeAuthenticationData(
				[ 'username' => $row['name'], 'password' => $password, 'retype' => $password ]
			);
			if ( !$done->isGood() ) {
				$this->fatalError( $row['name'] . ': ' . $done->getMessage()->plain() );
			}
			$page = $factory->newFromTitle( Title::newFromText( $row['book'] ) );
			$content = new WikitextContent( str_replace( '{word}', $row['word'], $text ) );
			$page->doUserEditContent( $content, $librarian, 'Shelved' );
		}
	}
}

$maintClass = Populate::class;
require_once RUN_MAINTENANCE_IF_MAIN;
