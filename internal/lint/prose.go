package lint

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// hardPhrases are phrases that hide who acts, or that put a pronoun in the place of a noun. A sentence with one of
// them often has to be read twice.
var hardPhrases = []string{
	"nobody", "whoever", "is told", "are told", "is heard", "anew", "of which", "that of", "those of", "any more",
	"what is", "what has", "what was", "who has", "who is", "the one that", "so does", "so is", "is not one", "there is one",
}

// Prose is a kind of text that people read.
type Prose string

// The kinds of text. The report counts each kind by itself.
const (
	// ProductionComments are the comments of production code, kits and programs.
	ProductionComments Prose = "production"
	// TestComments are the comments of test files.
	TestComments Prose = "tests"
	// Documents are Markdown files.
	Documents Prose = "documents"
)

// HardPhrase is a place with a phrase that makes a sentence hard to read.
type HardPhrase struct {
	File   string // relative to the module's root, with slashes
	Line   int    // the first line of the comment or paragraph
	Kind   Prose
	Phrase string
}

// key returns the text "DIR: KIND: PHRASE". testdata/prose.txt counts the allowed phrases by this key.
func (p HardPhrase) key() string { return path.Dir(p.File) + ": " + string(p.Kind) + ": " + p.Phrase }

// String returns the place and the phrase, as a compiler prints an error.
func (p HardPhrase) String() string { return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Phrase) }

// ProseReport lists the hard phrases of a module, and how many lines were read of each kind.
type ProseReport struct {
	Places []HardPhrase
	Lines  map[Prose]int
}

// Per100 returns the number of hard phrases in 100 lines of a kind of text.
func (r ProseReport) Per100(kind Prose) float64 {
	n := 0
	for _, p := range r.Places {
		if p.Kind == kind {
			n++
		}
	}
	return 100 * float64(n) / float64(max(r.Lines[kind], 1))
}

// CheckProse reads all comments of the module, and all Markdown files outside testdata.
func CheckProse(m *Module) (ProseReport, error) {
	r := ProseReport{Lines: map[Prose]int{}}
	search := hardPhrasePattern()
	for _, p := range m.Packages {
		for _, f := range p.Files {
			kind := ProductionComments
			if f.Test {
				kind = TestComments
			}
			for _, group := range f.Comments {
				r.addHardPhrases(search, HardPhrase{File: f.Name, Line: m.fset.Position(group.Pos()).Line, Kind: kind}, group.Text())
			}
		}
	}
	documents, err := markdownFiles(m.Root)
	for _, name := range documents {
		text, err := os.ReadFile(filepath.Join(m.Root, name))
		if err != nil {
			return r, err
		}
		line := 1
		for _, paragraph := range strings.SplitAfter(string(text), "\n\n") {
			r.addHardPhrases(search, HardPhrase{File: filepath.ToSlash(name), Line: line, Kind: Documents}, paragraph)
			line += strings.Count(paragraph, "\n")
		}
	}
	slices.SortFunc(r.Places, func(a, b HardPhrase) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Phrase, b.Phrase))
	})
	return r, err
}

// addHardPhrases adds the number of lines of a text to the report. It appends a copy of at for each hard phrase
// in the text, with that phrase.
func (r *ProseReport) addHardPhrases(search *regexp.Regexp, at HardPhrase, text string) {
	r.Lines[at.Kind] += strings.Count(text, "\n")
	joined := strings.ToLower(strings.Join(strings.Fields(text), " "))
	for _, at.Phrase = range search.FindAllString(joined, -1) {
		r.Places = append(r.Places, at)
	}
}

// hardPhrasePattern returns a regular expression that matches each hard phrase as whole words.
func hardPhrasePattern() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:` + strings.Join(hardPhrases, "|") + `)\b`)
}

// markdownFiles returns the names of the Markdown files under root, relative to root. It skips testdata and
// .git directories.
func markdownFiles(root string) (names []string, err error) {
	err = filepath.WalkDir(root, func(name string, entry os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == ".git"):
			return filepath.SkipDir
		case filepath.Ext(name) != ".md":
			return nil
		}
		relative, err := filepath.Rel(root, name)
		names = append(names, relative)
		return err
	})
	return names, err
}

// AddedProse returns the places of the phrases that stand more often in a directory than recorded says. recorded has
// lines "directory: kind: phrase: number".
func AddedProse(places []HardPhrase, recorded string) (added []HardPhrase) {
	allowed := parseAllowedCounts(recorded)
	found := map[string][]HardPhrase{}
	for _, p := range places {
		found[p.key()] = append(found[p.key()], p)
	}
	for _, p := range places {
		if len(found[p.key()]) > allowed[p.key()] {
			added = append(added, p)
		}
	}
	return added
}

// LowerProse returns the record with the numbers that have become lower. It adds nothing, so that no rewrite
// admits a new phrase.
func LowerProse(places []HardPhrase, recorded string) string {
	found := map[string]int{}
	for _, p := range places {
		found[p.key()]++
	}
	allowed := parseAllowedCounts(recorded)
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(allowed)) {
		if n := min(allowed[key], found[key]); n > 0 {
			fmt.Fprintf(&b, "%s: %d\n", key, n)
		}
	}
	return b.String()
}

// parseAllowedCounts parses lines of the form "KEY: NUMBER" and returns the allowed number for each key. It
// skips lines that have another form.
func parseAllowedCounts(recorded string) map[string]int {
	allowed := map[string]int{}
	for line := range strings.Lines(recorded) {
		i := strings.LastIndex(line, ": ")
		n := 0
		if i < 0 {
			continue
		}
		if _, err := fmt.Sscan(line[i+2:], &n); err == nil {
			allowed[line[:i]] = n
		}
	}
	return allowed
}
