package lint

import (
	"fmt"
	"go/doc"
	"path"
	"slices"
	"strings"
)

// maxSummary is how many characters the summary of a package has at most: it is a cell of a table.
const maxSummary = 90

// experimentalMark ends the first sentence of an experimental package.
const experimentalMark = " (experimental)"

// summaries holds the first sentence of each package that can be imported to what PACKAGES.md shows of
// it, and to the tier of the package.
func summaries(r *findings, h Codebase) {
	for _, p := range r.m.Packages {
		if !importable(p) {
			continue
		}
		for _, f := range p.sources() {
			if f.Doc == nil {
				continue
			}
			text, experimental := summary(p, f)
			switch tier := h.Tiers[p.Dir]; {
			case tier == Experimental && !experimental:
				r.at(f, f.Doc, "the package is experimental: its first sentence ends with%q", experimentalMark)
			case tier != Experimental && experimental:
				r.at(f, f.Doc, "the package is not experimental in tiers.go: its first sentence says that it is")
			}
			if n := len([]rune(text)); n > maxSummary {
				r.at(f, f.Doc, "the first sentence has %d characters behind the name of the package: %d at most, the rest is a second sentence", n, maxSummary)
			}
		}
	}
}

// summary returns the first sentence of a package comment, without the name of the package, and whether
// it says that the package is experimental.
func summary(p *Package, f *File) (text string, experimental bool) {
	text = new(doc.Package).Synopsis(f.Doc.Text())
	text = strings.TrimRight(strings.TrimPrefix(text, "Package "+p.Name+" "), ".:")
	return strings.CutSuffix(text, experimentalMark)
}

// baseNames wants another last element of the path of each package that can be imported: two packages
// of one name cannot be told apart in code that imports both.
func baseNames(r *findings, _ Codebase) {
	owner := map[string]string{}
	for _, p := range r.m.Packages {
		if !importable(p) {
			continue
		}
		base := path.Base(p.Dir)
		if other, taken := owner[base]; taken {
			r.on(p.Dir, "%s has the same name: give one of them another", other)
			continue
		}
		owner[base] = p.Dir
	}
}

// The groups of PACKAGES.md, in their order.
var (
	startHere  = []string{"syncloop/node", "syncloop/nodetest", "runtime/memory"}
	primitives = []string{"podworkers", "podmanager", "workqueue", "pleg", "syncloop", "runtime"}
)

// packageGroup is a part of PACKAGES.md.
type packageGroup struct {
	title, meaning string
	has            func(dir string, mark Mark) bool
}

// packageGroups returns the groups. A package is in the first one that has it.
func packageGroups() []packageGroup {
	return []packageGroup{
		{"Start", "What most programs import.", func(dir string, _ Mark) bool { return slices.Contains(startHere, dir) }},
		{"Primitives", "The nouns of the library, each usable alone.", func(dir string, _ Mark) bool { return slices.Contains(primitives, dir) }},
		{"Kits", "Conformance tests, servers and simulations for tests of your own.", func(_ string, m Mark) bool { return m == Kit }},
		{"Pure decisions", "Values in, values out: no goroutine, lock, clock or IO.", func(_ string, m Mark) bool { return m == Pure || m == Words }},
		{"Edges", "What is wired around the primitives: shells and stores, and what talks to files, sockets and servers.", func(string, Mark) bool { return true }},
	}
}

// PackagesPage returns the text of PACKAGES.md. compiled has for each package how many packages outside
// the standard library an importer compiles.
func PackagesPage(m *Module, h Codebase, compiled map[string]int) string {
	var b strings.Builder
	b.WriteString("# Packages\n\n" +
		"A test of internal/lint makes this page: `go test ./internal/lint -run TestPackages -rewrite`. The sentences are the first ones of the\n" +
		"package comments, the tiers those of [tiers.go](lint/tiers.go). Before 1.0 no package is stable: beta names may change in a minor release, and\n" +
		"the changelog says how; experimental ones may change or go in any release. *Compiled* is the number of packages outside the standard library that\n" +
		"an importer compiles on Linux.\n")
	left := slices.DeleteFunc(slices.Clone(m.Packages), func(p *Package) bool { return !importable(p) })
	for _, group := range packageGroups() {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| package | what it does | tier | compiled | kit |\n|---|---|---|---|---|\n", group.title, group.meaning)
		left = slices.DeleteFunc(left, func(p *Package) bool {
			row, _ := h.row(p.Dir)
			if !group.has(p.Dir, row.Mark) {
				return false
			}
			fmt.Fprintf(&b, "| [%s](../%[1]s/doc.go) | %s | %s | %d | %s |\n", p.Dir, describePackage(p), h.Tiers[p.Dir], compiled[p.Dir], kitOf(m, h, p.Dir))
			return true
		})
	}
	return b.String()
}

// describePackage returns the summary of a package as a cell of a table.
func describePackage(p *Package) string {
	for _, f := range p.sources() {
		if f.Doc != nil {
			text, _ := summary(p, f)
			return strings.ReplaceAll(text, "|", `\|`)
		}
	}
	return ""
}

// kitOf returns a link to the kit of a package, whose name is the package's and "test" or "ertest".
func kitOf(m *Module, h Codebase, dir string) string {
	for _, p := range m.Packages {
		row, _ := h.row(p.Dir)
		base := path.Base(p.Dir)
		if row.Mark == Kit && importable(p) && (base == path.Base(dir)+"test" || base == path.Base(dir)+"ertest") {
			return fmt.Sprintf("[%s](../%s/doc.go)", base, p.Dir)
		}
	}
	return ""
}
