package lint

import (
	"go/ast"
	"slices"
	"strings"
)

const maxDocLines = 80

// contracts holds each doc.go to a length that somebody reads, and keeps ids out of
// what go doc shows.
func contracts(r *findings, h Codebase) {
	for _, p := range r.m.Packages {
		for _, f := range p.sources() {
			if f.Doc == nil || slices.Contains(h.Uncontracted, p.Dir) {
				continue
			}
			if lines := strings.Count(f.Doc.Text(), "\n"); lines > maxDocLines {
				r.at(f, f.Doc, "the package comment has %d lines: the contract has at most %d, differences stand in RULES.md", lines, maxDocLines)
			}
			if ids := idsIn(f.Doc.Text()); len(ids) > 0 {
				r.at(f, f.Doc, "the package comment cites %s: say it in words, ids stand in RULES.md", ids[0])
			}
		}
		exportedDocs(p, func(f *File, name string, doc *ast.CommentGroup) {
			if ids := idsIn(doc.Text()); len(ids) > 0 && !slices.Contains(h.Uncontracted, p.Dir) {
				r.at(f, doc, "the comment of %s cites %s: say it in words, ids stand in RULES.md", name, ids[0])
			}
		})
	}
}

// exportedDocs visits the comments that go doc shows of exported names: functions,
// methods, types with their fields and methods, constants and variables.
func exportedDocs(p *Package, visit func(f *File, name string, doc *ast.CommentGroup)) {
	for _, f := range p.sources() {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && ast.IsExported(receiver(d)) && d.Doc != nil {
					visit(f, d.Name.Name, d.Doc)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					specDocs(d, spec, func(name string, doc *ast.CommentGroup) { visit(f, name, doc) })
				}
			}
		}
	}
}

// specDocs visits the comments of one declared type, constant or variable.
func specDocs(d *ast.GenDecl, spec ast.Spec, visit func(name string, doc *ast.CommentGroup)) {
	show := func(name string, docs ...*ast.CommentGroup) {
		for _, doc := range docs {
			if doc != nil && ast.IsExported(name) {
				visit(name, doc)
			}
		}
	}
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			show(name.Name, d.Doc, spec.Doc, spec.Comment)
		}
	case *ast.TypeSpec:
		show(spec.Name.Name, d.Doc, spec.Doc, spec.Comment)
		if spec.Name.IsExported() {
			for _, field := range fieldsOf(spec.Type) {
				for _, name := range field.Names {
					show(name.Name, field.Doc, field.Comment)
				}
			}
		}
	}
}

// fieldsOf are the fields of a struct or the methods of an interface.
func fieldsOf(t ast.Expr) []*ast.Field {
	switch t := t.(type) {
	case *ast.StructType:
		return t.Fields.List
	case *ast.InterfaceType:
		return t.Methods.List
	}
	return nil
}
