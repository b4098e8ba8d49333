package lint

import (
	"go/ast"
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Limits bound the size of files that are neither tests nor generated.
type Limits struct {
	FileLines int // of each file, comments and blanks too
}

// Size is how much production code there is.
type Size struct {
	Lines     int   // without comments and blank lines
	Cluster   int   // lines of the packages in Codebase.Cluster; Lines does not include them
	Functions []int // the number of lines of each function, in ascending order
}

// NinthDecile returns the number of lines that nine of ten functions do not exceed.
func (s Size) NinthDecile() int { return s.Functions[len(s.Functions)*9/10] }

// Measure counts the production code of a module. It leaves out tests, kits, programs, tools, and the runtimes for tests and
// simulations.
func Measure(m *Module, h Codebase) (Size, error) {
	var s Size
	for _, p := range m.Packages {
		row, _ := h.findRow(p.Dir)
		below := func(dir string) bool { return p.Dir == dir || strings.HasPrefix(p.Dir, dir+"/") }
		if slices.Contains([]Mark{Kit, Main, Tool}, row.Mark) || slices.ContainsFunc(h.Simulated, below) {
			continue
		}
		for _, f := range p.productionFiles() {
			lines, err := countCodeLines(filepath.Join(m.Root, f.Name))
			if err != nil {
				return s, err
			}
			if slices.ContainsFunc(h.Cluster, below) {
				s.Cluster += lines
			} else {
				s.Lines += lines
			}
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok {
					s.Functions = append(s.Functions, m.lineOf(fn.End())-m.lineOf(fn.Type.Pos())+1)
				}
			}
		}
	}
	slices.Sort(s.Functions)
	return s, nil
}

// lineOf returns the line number of a position.
func (m *Module) lineOf(p token.Pos) int { return m.fset.Position(p).Line }

// countCodeLines returns the number of lines of a Go file that have more than white space and comments.
func countCodeLines(name string) (int, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	file := token.NewFileSet().AddFile(name, -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0)
	lines := map[int]bool{}
	for {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			return len(lines), nil
		}
		if tok == token.SEMICOLON && literal == "\n" {
			continue
		}
		for i := range strings.Count(literal, "\n") + 1 {
			lines[file.Line(pos)+i] = true
		}
	}
}

// checkFileSizes reports production files with more lines than Limits.FileLines.
func checkFileSizes(r *findings, h Codebase) {
	for _, p := range r.m.Packages {
		for _, f := range p.productionFiles() {
			if lines := r.m.lineOf(f.FileEnd); lines > h.Limits.FileLines {
				r.reportFile(f.Name, "%d lines, and a file has at most %d: split it by its nouns", lines, h.Limits.FileLines)
			}
		}
	}
}
