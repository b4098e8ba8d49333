package lint

import (
	"go/ast"
	"path"
	"strings"
	"unicode"
)

// docs wants a doc.go in every package, a doc comment in every program, and
// for every exported name a comment that begins with it.
func docs(r *findings, h Codebase) {
	for _, p := range r.m.Packages {
		if p.Name == "" {
			continue
		}
		packageDoc(r, p)
		for _, f := range p.sources() {
			for _, d := range f.Decls {
				switch d := d.(type) {
				case *ast.FuncDecl:
					funcDoc(r, f, d)
				case *ast.GenDecl:
					genDoc(r, f, d)
				}
			}
		}
	}
}

func packageDoc(r *findings, p *Package) {
	found := false
	for _, f := range p.sources() {
		if f.Doc != nil && (p.Name == "main" || path.Base(f.Name) == "doc.go") {
			found = true
		}
	}
	switch {
	case found:
	case p.Name == "main":
		r.on(p.Dir, "has no doc comment: say what the program shows")
	default:
		r.on(p.Dir, "has no doc.go with a package comment: write the contract there")
	}
}

func funcDoc(r *findings, f *File, d *ast.FuncDecl) {
	if d.Name.IsExported() && ast.IsExported(receiver(d)) {
		documented(r, f, d.Name, d.Doc)
	}
}

// receiver is the type of a method; for a function something exported.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return "Function"
	}
	t := d.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

func genDoc(r *findings, f *File, d *ast.GenDecl) {
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			if !spec.Name.IsExported() {
				continue
			}
			documented(r, f, spec.Name, first(spec.Doc, d.Doc))
			if i, ok := spec.Type.(*ast.InterfaceType); ok {
				interfaceDoc(r, f, i)
			}
		case *ast.ValueSpec:
			doc := spec.Doc
			if !d.Lparen.IsValid() {
				doc = d.Doc // Not in a group, whose comment is for all of it.
			}
			for _, name := range spec.Names {
				if name.IsExported() {
					documented(r, f, name, first(doc, spec.Comment))
				}
			}
		}
	}
}

func interfaceDoc(r *findings, f *File, i *ast.InterfaceType) {
	for _, method := range i.Methods.List {
		for _, name := range method.Names { // None: an embedded interface.
			if name.IsExported() {
				documented(r, f, name, method.Doc)
			}
		}
	}
}

// first is the first comment that exists.
func first(comments ...*ast.CommentGroup) *ast.CommentGroup {
	for _, c := range comments {
		if c != nil {
			return c
		}
	}
	return nil
}

// documented wants the comment to begin with the name.
func documented(r *findings, f *File, name *ast.Ident, doc *ast.CommentGroup) {
	rest, ok := strings.CutPrefix(doc.Text(), name.Name)
	if ok && (rest == "" || !unicode.IsLetter(rune(rest[0])) && !unicode.IsDigit(rune(rest[0]))) {
		return
	}
	if doc.Text() == "" {
		r.at(f, name, "%s has no comment: say what it is, in a sentence that begins with %s", name.Name, name.Name)
	} else {
		r.at(f, name, "the comment of %s does not begin with its name", name.Name)
	}
}
