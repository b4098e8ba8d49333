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

// Limits bound the size of what is neither a test nor generated.
type Limits struct {
	FileLines int // of each file, comments and blanks too
}

// Size is how much production code there is.
type Size struct {
	Lines     int   // without comments and blanks
	Cluster   int   // the same for what joins a node to a cluster, which is not in Lines
	Functions []int // the lines of each, in ascending order
}

// Tenth is the length that one function in ten exceeds or has.
func (s Size) Tenth() int { return s.Functions[len(s.Functions)*9/10] }

// Measure counts the production code of a module: no tests, no kits, no programs and
// tools, and none of the runtimes that only tests and simulations run on.
func Measure(m *Module, h Codebase) (Size, error) {
	var s Size
	for _, p := range m.Packages {
		row, _ := h.row(p.Dir)
		below := func(dir string) bool { return p.Dir == dir || strings.HasPrefix(p.Dir, dir+"/") }
		if slices.Contains([]Mark{Kit, Main, Tool}, row.Mark) || slices.ContainsFunc(h.Simulated, below) {
			continue
		}
		for _, f := range p.sources() {
			lines, err := codeLines(filepath.Join(m.Root, f.Name))
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
					s.Functions = append(s.Functions, m.line(fn.End())-m.line(fn.Type.Pos())+1)
				}
			}
		}
	}
	slices.Sort(s.Functions)
	return s, nil
}

// line is where a position is in its file.
func (m *Module) line(p token.Pos) int { return m.fset.Position(p).Line }

// codeLines counts the lines of a file that hold more than a comment.
func codeLines(name string) (int, error) {
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

// sizes wants files that can be read in one go.
func sizes(r *findings, h Codebase) {
	for _, p := range r.m.Packages {
		for _, f := range p.sources() {
			if lines := r.m.line(f.FileEnd); lines > h.Limits.FileLines {
				r.on(f.Name, "%d lines, and a file has at most %d: split it by its nouns", lines, h.Limits.FileLines)
			}
		}
	}
}
