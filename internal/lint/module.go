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
	Name  string // of what is not a test; empty if there are tests only
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
			return enter(root, name)
		}
		if filepath.Ext(name) != ".go" {
			return nil
		}
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		file, err := m.parse(name, filepath.ToSlash(relative))
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

// enter decides whether a directory belongs to the module.
func enter(root, dir string) error {
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

func (m *Module) parse(name, relative string) (*File, error) {
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

// importPath is what a spec imports.
func importPath(spec *ast.ImportSpec) string {
	p, _ := strconv.Unquote(spec.Path.Value) // The parser has seen to it.
	return p
}

// importName is the name an import has in its file, going by convention where
// the file does not say.
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

// selected resolves an expression like time.Now to "time" and "Now"; both are
// empty if it is anything but a name out of an imported package.
func (f *File) selected(e ast.Node) (pkg, name string) {
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

// sources are a package's files that are not tests.
func (p *Package) sources() []*File { return p.only(false) }

// tests are a package's test files.
func (p *Package) tests() []*File { return p.only(true) }

func (p *Package) only(test bool) []*File {
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
	Text string // what is wrong and what to do
}

// String is the finding as one line.
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

// at reports something about a place in a file.
func (r *findings) at(f *File, n ast.Node, format string, args ...any) {
	line := r.m.fset.Position(n.Pos()).Line
	r.all = append(r.all, Finding{f.Name, line, r.rule, fmt.Sprintf(format, args...)})
}

// on reports something about a whole file or directory.
func (r *findings) on(name, format string, args ...any) {
	r.all = append(r.all, Finding{name, 0, r.rule, fmt.Sprintf(format, args...)})
}

// rules are all rules that need no more than the parsed module.
func rules() map[string]func(*findings, Codebase) {
	return map[string]func(*findings, Codebase){
		"toplevel":    topLevel,
		"table":       rowsOfTheTable,
		"layer":       layers,
		"importer":    soleImporters,
		"pure":        pure,
		"words":       words,
		"passive":     passive,
		"seam":        seam,
		"constructor": constructors,
		"example":     examples,
		"global":      globals,
		"doc":         docs,
		"sleep":       sleeps,
		"leak":        leaks,
		"files":       files,
		"hidden":      hidden,
		"ruletable":   ruleTables,
		"contract":    contracts,
		"size":        sizes,
		"term":        terms,
		"glob":        globs,
		"decoder":     decoders,
		"summary":     summaries,
		"basename":    baseNames,
	}
}

// Check holds a module against every rule. The findings are in order of place.
func Check(m *Module, h Codebase) []Finding {
	var all []Finding
	for name, rule := range rules() {
		r := &findings{m: m, rule: name}
		rule(r, h)
		all = append(all, r.all...)
	}
	return sorted(all)
}

// sorted puts findings in order of place and drops those said twice.
func sorted(all []Finding) []Finding {
	slices.SortFunc(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Text, b.Text))
	})
	return slices.Compact(all)
}
