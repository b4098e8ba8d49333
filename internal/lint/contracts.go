package lint

import (
	"go/ast"
	"slices"
	"strings"
)

const maxDocLines = 80

// checkCommentLengthsAndIDs reports package comments that are too long, and ids in package comments and in the
// comments of exported names. It skips the packages in Codebase.Uncontracted.
func checkCommentLengthsAndIDs(r *findings, h Codebase) {
	for _, p := range r.m.Packages {
		for _, f := range p.productionFiles() {
			if f.Doc == nil || slices.Contains(h.Uncontracted, p.Dir) {
				continue
			}
			if lines := strings.Count(f.Doc.Text(), "\n"); lines > maxDocLines {
				r.reportNode(f, f.Doc, "the package comment has %d lines: the contract has at most %d, differences stand in RULES.md", lines, maxDocLines)
			}
			if ids := findIDs(f.Doc.Text()); len(ids) > 0 {
				r.reportNode(f, f.Doc, "the package comment cites %s: say it in words, ids stand in RULES.md", ids[0])
			}
		}
		visitExportedNamesWithDoc(p, func(f *File, name string, doc *ast.CommentGroup) {
			if ids := findIDs(doc.Text()); len(ids) > 0 && !slices.Contains(h.Uncontracted, p.Dir) {
				r.reportNode(f, doc, "the comment of %s cites %s: say it in words, ids stand in RULES.md", name, ids[0])
			}
		})
	}
}

// visitExportedNamesWithDoc calls visit for each comment of an exported name in the production files of a package:
// functions, methods, types, their fields and interface methods, constants and variables.
func visitExportedNamesWithDoc(p *Package, visit func(f *File, name string, doc *ast.CommentGroup)) {
	for _, f := range p.productionFiles() {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && ast.IsExported(receiverTypeName(d)) && d.Doc != nil {
					visit(f, d.Name.Name, d.Doc)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					visitSpecDocs(d, spec, func(name string, doc *ast.CommentGroup) { visit(f, name, doc) })
				}
			}
		}
	}
}

// visitSpecDocs calls visit for each comment of the exported names in one specification: of the type, constants
// or variables, and of the fields or interface methods of an exported type.
func visitSpecDocs(d *ast.GenDecl, spec ast.Spec, visit func(name string, doc *ast.CommentGroup)) {
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
			for _, field := range structFieldsOrMethods(spec.Type) {
				for _, name := range field.Names {
					show(name.Name, field.Doc, field.Comment)
				}
			}
		}
	}
}

// structFieldsOrMethods returns the fields of a struct or the methods of an interface. It returns nil for
// another type.
func structFieldsOrMethods(t ast.Expr) []*ast.Field {
	switch t := t.(type) {
	case *ast.StructType:
		return t.Fields.List
	case *ast.InterfaceType:
		return t.Methods.List
	}
	return nil
}
