package lint

import (
	"cmp"
	"fmt"
	"go/ast"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// families are the letters with which the ids of rules begin: of the kubelet's
// behaviour, and LA of the local API's, followed by a dash and a number. P (statuses of pods), I (invariants) and
// F (faults) are followed by a number alone.
const families = "AD|AU|B|CA|CE|CF|CG|CS|D|EB|EV|GC|HC|HM|HS|IG|IM|IN|KB|KC|LA|MI|NA|ND|OM|PH|PM|PR|QR|RS|RZ|SD|SL|SM|SP|ST|TE|TO|VC|XB"

var (
	idInText   = regexp.MustCompile(`(?:^|[^A-Za-z0-9_/-])(?:(` + families + `)-(\d{1,3})|([IFP])(0?\d{1,2}))\b`)
	idInName   = regexp.MustCompile(`_(` + families + `|[IFP])(\d{1,3})`)
	idRange    = regexp.MustCompile(`(?:\b|_)(` + families + `|[IFP])-?(\d{1,3})(?: ?to ?|To|-)(?:` + families + `|[IFP])-?(\d{1,3})(?:\b|_)`)
	testedName = regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark|Example)\w*`)
)

// ID is a rule's: a family and a number.
type ID struct {
	Family string
	Number int
}

// String returns the id as comments write it.
func (id ID) String() string {
	switch id.Family {
	case "I", "F", "P":
		return fmt.Sprintf("%s%d", id.Family, id.Number)
	case "B":
		return fmt.Sprintf("B-%03d", id.Number)
	}
	return fmt.Sprintf("%s-%d", id.Family, id.Number)
}

// compareIDs compares ids by family and then by number. The families P, I and F are last, in this order; all
// other families are alphabetical.
func compareIDs(a, b ID) int {
	index := func(id ID) int { return slices.Index([]string{"P", "I", "F"}, id.Family) }
	return cmp.Or(cmp.Compare(index(a), index(b)), cmp.Compare(a.Family, b.Family), cmp.Compare(a.Number, b.Number))
}

// findIDs returns the ids in a text, sorted and without duplicates. It also finds ids in the names of tests,
// and it returns each id of a range such as B-001 to B-004.
func findIDs(text string) []ID {
	var out []ID
	for _, m := range idInText.FindAllStringSubmatch(text, -1) {
		out = append(out, parseID(m[1]+m[3], m[2]+m[4]))
	}
	for _, name := range testedName.FindAllString(text, -1) {
		for _, m := range idInName.FindAllStringSubmatch(name, -1) {
			out = append(out, parseID(m[1], m[2]))
		}
	}
	for _, m := range idRange.FindAllStringSubmatch(text, -1) {
		for id, last := parseID(m[1], m[2]), parseID(m[1], m[3]); id.Number <= last.Number; id.Number++ {
			out = append(out, id)
		}
	}
	slices.SortFunc(out, compareIDs)
	return slices.Compact(out)
}

// parseID returns the id with a family such as B and a number such as 001.
func parseID(family, number string) ID {
	n, _ := strconv.Atoi(number) // Digits, as the expression wants.
	return ID{family, n}
}

// Citation is a place in a package that names a rule.
type Citation struct {
	ID   ID
	File string // relative to the module's root
	Line int
	Test string // the test, or the file of stories below the package; empty for production code
}

// findCitations returns the places where the Go files and the testdata of a package cite ids. It skips doc.go.
func findCitations(m *Module, p *Package) ([]Citation, error) {
	var out []Citation
	for _, f := range p.Files {
		if path.Base(f.Name) == "doc.go" {
			continue
		}
		source, err := os.ReadFile(filepath.Join(m.Root, f.Name))
		if err != nil {
			return nil, err
		}
		out = append(out, findIDsCitedInFile(m, f, string(source))...)
	}
	stories, err := findIDsCitedInTestdata(m, p)
	return append(out, stories...), err
}

// findIDsCitedInFile returns each mention of a rule's ID in a Go file, with its line. In a test file each
// mention also has the name of the test function around it. Outside a test function it has the name of the
// file.
func findIDsCitedInFile(m *Module, f *File, source string) []Citation {
	tests := testNamesByLine(m, f)
	var out []Citation
	number := 0
	for line := range strings.Lines(source) {
		number++
		for _, id := range findIDs(line) {
			c := Citation{ID: id, File: f.Name, Line: number}
			if f.Test {
				c.Test = cmp.Or(tests[number], path.Base(f.Name))
			}
			out = append(out, c)
		}
	}
	return out
}

// testNamesByLine returns a map from each line of a test function, and of its comment, to the name of the
// function.
func testNamesByLine(m *Module, f *File) map[int]string {
	out := map[int]string{}
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || !testedName.MatchString(fn.Name.Name) {
			continue
		}
		from := fn.Pos()
		if fn.Doc != nil {
			from = fn.Doc.Pos()
		}
		for line := m.fset.Position(from).Line; line <= m.fset.Position(fn.End()).Line; line++ {
			out[line] = fn.Name.Name
		}
	}
	return out
}

// findIDsCitedInTestdata returns each mention of a rule's ID in the files under a package's testdata directory,
// which may be missing. It also searches the names of the files. An ID in a name counts as a mention in line 1.
func findIDsCitedInTestdata(m *Module, p *Package) ([]Citation, error) {
	root := filepath.Join(m.Root, p.Dir)
	var out []Citation
	err := filepath.WalkDir(filepath.Join(root, "testdata"), func(name string, entry fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		story, err := filepath.Rel(root, name)
		for _, id := range findIDs(strings.ReplaceAll(entry.Name(), "_", " ")) {
			out = append(out, Citation{id, path.Join(p.Dir, filepath.ToSlash(story)), 1, filepath.ToSlash(story)})
		}
		number := 0
		for line := range strings.Lines(string(text)) {
			number++
			for _, id := range findIDs(line) {
				out = append(out, Citation{id, path.Join(p.Dir, filepath.ToSlash(story)), number, filepath.ToSlash(story)})
			}
		}
		return err
	})
	return out, err
}
