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

// experimentalMark stands at the end of the first sentence of an experimental package.
const experimentalMark = " (experimental)"

// checkPackageSummaries reports the first sentence of an importable package's comment if it is too long for
// PACKAGES.md. It also reports the sentence if it has the experimental mark and the package is not
// experimental, or the reverse.
func checkPackageSummaries(r *findings, h Codebase) {
	for _, p := range r.m.Packages {
		if !isImportable(p) {
			continue
		}
		for _, f := range p.productionFiles() {
			if f.Doc == nil {
				continue
			}
			text, experimental := packageSummary(p, f)
			switch tier := h.Tiers[p.Dir]; {
			case tier == Experimental && !experimental:
				r.reportNode(f, f.Doc, "the package is experimental: its first sentence ends with%q", experimentalMark)
			case tier != Experimental && experimental:
				r.reportNode(f, f.Doc, "the package is not experimental in tiers.go: its first sentence says that it is")
			}
			if n := len([]rune(text)); n > maxSummary {
				r.reportNode(f, f.Doc, "the first sentence has %d characters behind the name of the package: %d at most, the rest is a second sentence", n, maxSummary)
			}
		}
	}
}

// packageSummary returns the first sentence of a package comment without the words "Package NAME", the final
// dot and the experimental mark. experimental reports whether the sentence had the experimental mark.
func packageSummary(p *Package, f *File) (text string, experimental bool) {
	text = new(doc.Package).Synopsis(f.Doc.Text())
	text = strings.TrimRight(strings.TrimPrefix(text, "Package "+p.Name+" "), ".:")
	return strings.CutSuffix(text, experimentalMark)
}

// checkUniqueBaseNames reports an importable package whose last path element an earlier importable package also
// has. A file that imports both has to rename one of them.
func checkUniqueBaseNames(r *findings, _ Codebase) {
	owner := map[string]string{}
	for _, p := range r.m.Packages {
		if !isImportable(p) {
			continue
		}
		base := path.Base(p.Dir)
		if other, taken := owner[base]; taken {
			r.reportFile(p.Dir, "%s has the same name: give one of them another", other)
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

// packageGroups returns the groups of PACKAGES.md in order. A package belongs to the first group whose function
// returns true for it.
func packageGroups() []packageGroup {
	return []packageGroup{
		{"Start", "Packages that most programs import.", func(dir string, _ Mark) bool { return slices.Contains(startHere, dir) }},
		{"Primitives", "The nouns of the library, each usable alone.", func(dir string, _ Mark) bool { return slices.Contains(primitives, dir) }},
		{"Kits", "Conformance tests, servers and simulations for tests of your own.", func(_ string, m Mark) bool { return m == Kit }},
		{"Pure decisions", "Values in, values out: no goroutine, lock, clock or IO.", func(_ string, m Mark) bool { return m == Pure || m == Words }},
		{"Edges", "Packages around the primitives: shells, stores, and packages that talk to files, sockets and servers.", func(string, Mark) bool { return true }},
	}
}

// PackagesPage returns the text of PACKAGES.md. compiled maps a package to the number of packages outside the standard
// library that an importer of it compiles.
func PackagesPage(m *Module, h Codebase, compiled map[string]int) string {
	var b strings.Builder
	b.WriteString("# Packages\n\n" +
		"A test of internal/lint makes this page: `go test ./internal/lint -run TestPackages -rewrite`. Each sentence is the first one of the\n" +
		"package's comment. [tiers.go](lint/tiers.go) has the tiers. Before 1.0 no package is stable: beta names may change in a minor release, and\n" +
		"the changelog says how; experimental ones may change or go in any release. *Compiled* is the number of packages outside the standard library that\n" +
		"an importer compiles on Linux.\n")
	left := slices.DeleteFunc(slices.Clone(m.Packages), func(p *Package) bool { return !isImportable(p) })
	for _, group := range packageGroups() {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| package | what it does | tier | compiled | kit |\n|---|---|---|---|---|\n", group.title, group.meaning)
		left = slices.DeleteFunc(left, func(p *Package) bool {
			row, _ := h.findRow(p.Dir)
			if !group.has(p.Dir, row.Mark) {
				return false
			}
			fmt.Fprintf(&b, "| [%s](../%[1]s/doc.go) | %s | %s | %d | %s |\n", p.Dir, describePackage(p), h.Tiers[p.Dir], compiled[p.Dir], testKitLink(m, h, p.Dir))
			return true
		})
	}
	return b.String()
}

// describePackage returns the summary of a package as a cell of a Markdown table, or "" if it has no package
// comment.
func describePackage(p *Package) string {
	for _, f := range p.productionFiles() {
		if f.Doc != nil {
			text, _ := packageSummary(p, f)
			return strings.ReplaceAll(text, "|", `\|`)
		}
	}
	return ""
}

// testKitLink returns a Markdown link to the importable test kit of a package, or "". The base name of the kit is
// the base name of the package with "test" or "ertest" at the end.
func testKitLink(m *Module, h Codebase, dir string) string {
	for _, p := range m.Packages {
		row, _ := h.findRow(p.Dir)
		base := path.Base(p.Dir)
		if row.Mark == Kit && isImportable(p) && (base == path.Base(dir)+"test" || base == path.Base(dir)+"ertest") {
			return fmt.Sprintf("[%s](../%s/doc.go)", base, p.Dir)
		}
	}
	return ""
}
