# Formula for Homebrew on Linux, filled in by `cargo xtask dist --releases URL`.
class Farfield < Formula
  desc "Web-server benchmark with emulated clients far away and a verdict on each run"
  homepage "@RELEASES@"
  url "@RELEASES@/v@VERSION@/@ARCHIVE@"
  version "@VERSION@"
  sha256 "@SHA256@"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on arch: :@ARCHITECTURE@
  depends_on :linux

  def install
    bin.install "bin/farfield"
    man1.install Dir["share/man/man1/*"]
    bash_completion.install "share/bash-completion/completions/farfield"
    fish_completion.install "share/fish/vendor_completions.d/farfield.fish"
    zsh_completion.install "share/zsh/site-functions/_farfield"
  end

  test do
    assert_equal "farfield @VERSION@", shell_output("#{bin}/farfield --version").strip
  end
end
