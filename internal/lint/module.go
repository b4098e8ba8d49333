package lint

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Module is a parsed tree of Go packages.
type Module struct {
	Path     string
	Root     string
	Packages []*Package // by directory
	fset     *token.FileSet
}

// Package is one directory with Go files, tests included.
type Package struct {
	Dir   string // relative to the module's root, with slashes
	Name  string // of the package without tests; empty if it has only tests
	Files []*File
}

// File is one Go file.
type File struct {
	*ast.File
	Name    string // relative to the module's root, with slashes
	Test    bool
	imports map[string]string // by the name they have in this file
}

// Load parses every Go file under root that belongs to the module at root,
// whatever its build constraints.
func Load(root, modulePath string) (*Module, error) {
	m := &Module{Path: modulePath, Root: root, fset: token.NewFileSet()}
	packages := map[string]*Package{}
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return skipForeignDirectory(root, name)
		}
		if filepath.Ext(name) != ".go" {
			return nil
		}
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		file, err := m.parseFile(name, filepath.ToSlash(relative))
		if err != nil {
			return err
		}
		dir := path.Dir(file.Name)
		p := packages[dir]
		if p == nil {
			p = &Package{Dir: dir}
			packages[dir] = p
			m.Packages = append(m.Packages, p)
		}
		p.Files = append(p.Files, file)
		if !file.Test {
			p.Name = file.File.Name.Name
		}
		return nil
	})
	slices.SortFunc(m.Packages, func(a, b *Package) int { return cmp.Compare(a.Dir, b.Dir) })
	return m, err
}

// skipForeignDirectory returns fs.SkipDir for a directory that does not belong to the module: testdata, a name
// that begins with . or _, or another module. It returns nil for root and for all other directories.
func skipForeignDirectory(root, dir string) error {
	if dir == root {
		return nil
	}
	base := filepath.Base(dir)
	if base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return fs.SkipDir
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

func (m *Module) parseFile(name, relative string) (*File, error) {
	parsed, err := parser.ParseFile(m.fset, name, nil, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	f := &File{File: parsed, Name: relative, Test: strings.HasSuffix(name, "_test.go"), imports: map[string]string{}}
	for _, spec := range parsed.Imports {
		f.imports[importName(spec)] = importPath(spec)
	}
	return f, nil
}

// importPath returns the unquoted path of an import.
func importPath(spec *ast.ImportSpec) string {
	p, _ := strconv.Unquote(spec.Path.Value) // The parser has checked the quotes.
	return p
}

// importName returns the name by which a file refers to an import: its explicit name, or the last element of
// the path that is not a version such as v2.
func importName(spec *ast.ImportSpec) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	p := importPath(spec)
	base := path.Base(p)
	if len(base) > 1 && base[0] == 'v' && strings.Trim(base[1:], "0123456789") == "" {
		base = path.Base(path.Dir(p)) // The version of a module, except where Kubernetes makes it a package.
	}
	return base
}

// resolveSelector returns "time" and "Now" for the expression time.Now. It returns "" and "" if the expression
// is not a name from an imported package.
func (f *File) resolveSelector(e ast.Node) (pkg, name string) {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	x, ok := s.X.(*ast.Ident)
	if !ok || x.Obj != nil { // Obj: something declared in this file.
		return "", ""
	}
	p, ok := f.imports[x.Name]
	if !ok {
		return "", ""
	}
	return p, s.Sel.Name
}

// productionFiles returns the Go files of a package that are not test files.
func (p *Package) productionFiles() []*File { return p.filesByKind(false) }

// testFiles returns the test files of a package.
func (p *Package) testFiles() []*File { return p.filesByKind(true) }

// filesByKind returns the test files of a package if test is true, and the other files if test is false.
func (p *Package) filesByKind(test bool) []*File {
	var out []*File
	for _, f := range p.Files {
		if f.Test == test {
			out = append(out, f)
		}
	}
	return out
}

// Finding is one breach of a rule.
type Finding struct {
	File string
	Line int // 0: the file or directory as a whole
	Rule string
	Text string // the fault and the remedy
}

// String returns the finding as one line.
func (f Finding) String() string {
	if f.Line == 0 {
		return fmt.Sprintf("%s: %s: %s", f.File, f.Rule, f.Text)
	}
	return fmt.Sprintf("%s:%d: %s: %s", f.File, f.Line, f.Rule, f.Text)
}

// findings collects what one rule finds.
type findings struct {
	m    *Module
	rule string
	all  []Finding
}

// reportNode adds a finding for the line in which a syntax node begins.
func (r *findings) reportNode(f *File, n ast.Node, format string, args ...any) {
	line := r.m.fset.Position(n.Pos()).Line
	r.all = append(r.all, Finding{f.Name, line, r.rule, fmt.Sprintf(format, args...)})
}

// reportFile adds a finding for a file or directory as a whole.
func (r *findings) reportFile(name, format string, args ...any) {
	r.all = append(r.all, Finding{name, 0, r.rule, fmt.Sprintf(format, args...)})
}

// allRules returns the check function of each rule that needs only the parsed module, by the name of the rule.
func allRules() map[string]func(*findings, Codebase) {
	return map[string]func(*findings, Codebase){
		"toplevel":    checkTopLevelEntries,
		"table":       checkRowsAndMainMarksOfPackages,
		"layer":       checkImportsPointToLowerLayers,
		"importer":    checkSoleImporters,
		"pure":        checkPurePackages,
		"words":       checkTypeOnlyPackagesRunNothing,
		"passive":     checkPassivePackages,
		"seam":        checkShellsUseExecutor,
		"constructor": checkConstructorsStartNothing,
		"example":     checkConstructorExamples,
		"global":      checkInitGlobalsAndLibraryExits,
		"doc":         checkDocComments,
		"sleep":       checkTestSleepsAndPolls,
		"leak":        checkGoroutineLeakTests,
		"files":       checkOpenRootAndRemoveAll,
		"hidden":      checkHiddenTypes,
		"ruletable":   checkRuleTables,
		"contract":    checkCommentLengthsAndIDs,
		"size":        checkFileSizes,
		"term":        checkPrivateWords,
		"glob":        checkGlobCalls,
		"decoder":     checkYAMLDecoders,
		"summary":     checkPackageSummaries,
		"basename":    checkUniqueBaseNames,
	}
}

// Check applies every rule to a module. It returns the findings in order of place.
func Check(m *Module, h Codebase) []Finding {
	var all []Finding
	for name, rule := range allRules() {
		r := &findings{m: m, rule: name}
		rule(r, h)
		all = append(all, r.all...)
	}
	return sortFindings(all)
}

// sortFindings sorts findings by file, line, rule and text, and returns them without duplicates.
func sortFindings(all []Finding) []Finding {
	slices.SortFunc(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Text, b.Text))
	})
	return slices.Compact(all)
}
