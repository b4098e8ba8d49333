package lint

import (
	"go/ast"
	"path"
	"strings"
	"unicode"
)

// checkDocComments reports packages without a doc.go that has a package comment, programs without a package
// comment, and exported names without a comment that begins with the name.
func checkDocComments(r *findings, h Codebase) {
	for _, p := range r.m.Packages {
		if p.Name == "" {
			continue
		}
		checkDocGoHasPackageComment(r, p)
		for _, f := range p.productionFiles() {
			for _, d := range f.Decls {
				switch d := d.(type) {
				case *ast.FuncDecl:
					checkFuncDoc(r, f, d)
				case *ast.GenDecl:
					checkGenDeclDoc(r, f, d)
				}
			}
		}
	}
}

// checkDocGoHasPackageComment reports a package without a doc.go that has a package comment, and a program that
// has no package comment in any file.
func checkDocGoHasPackageComment(r *findings, p *Package) {
	found := false
	for _, f := range p.productionFiles() {
		if f.Doc != nil && (p.Name == "main" || path.Base(f.Name) == "doc.go") {
			found = true
		}
	}
	switch {
	case found:
	case p.Name == "main":
		r.reportFile(p.Dir, "has no doc comment: say what the program shows")
	default:
		r.reportFile(p.Dir, "has no doc.go with a package comment: write the contract there")
	}
}

// checkFuncDoc reports an exported function or method whose comment is missing or does not begin with its name.
// It skips methods of unexported types.
func checkFuncDoc(r *findings, f *File, d *ast.FuncDecl) {
	if d.Name.IsExported() && ast.IsExported(receiverTypeName(d)) {
		checkCommentBeginsWithName(r, f, d.Name, d.Doc)
	}
}

// receiverTypeName returns the name of a method's receiver type. For a function it returns the exported word
// "Function", so that callers can test both with ast.IsExported. It returns "" for a receiver of another form.
func receiverTypeName(d *ast.FuncDecl) string {
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

// checkGenDeclDoc reports the exported types, constants and variables of a declaration whose comment is missing
// or does not begin with the name. It does the same for the exported methods of each exported interface.
func checkGenDeclDoc(r *findings, f *File, d *ast.GenDecl) {
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			if !spec.Name.IsExported() {
				continue
			}
			checkCommentBeginsWithName(r, f, spec.Name, firstComment(spec.Doc, d.Doc))
			if i, ok := spec.Type.(*ast.InterfaceType); ok {
				checkInterfaceDoc(r, f, i)
			}
		case *ast.ValueSpec:
			doc := spec.Doc
			if !d.Lparen.IsValid() {
				doc = d.Doc // Not in a group, whose comment is for all of it.
			}
			for _, name := range spec.Names {
				if name.IsExported() {
					checkCommentBeginsWithName(r, f, name, firstComment(doc, spec.Comment))
				}
			}
		}
	}
}

// checkInterfaceDoc reports exported methods of an interface whose comment is missing or does not begin with
// the name.
func checkInterfaceDoc(r *findings, f *File, i *ast.InterfaceType) {
	for _, method := range i.Methods.List {
		for _, name := range method.Names { // None: an embedded interface.
			if name.IsExported() {
				checkCommentBeginsWithName(r, f, name, method.Doc)
			}
		}
	}
}

// firstComment returns the first comment that is not nil, or nil if all are nil.
func firstComment(comments ...*ast.CommentGroup) *ast.CommentGroup {
	for _, c := range comments {
		if c != nil {
			return c
		}
	}
	return nil
}

// checkCommentBeginsWithName reports a name whose comment is missing or does not begin with the name as a whole
// word.
func checkCommentBeginsWithName(r *findings, f *File, name *ast.Ident, doc *ast.CommentGroup) {
	rest, ok := strings.CutPrefix(doc.Text(), name.Name)
	if ok && (rest == "" || !unicode.IsLetter(rune(rest[0])) && !unicode.IsDigit(rune(rest[0]))) {
		return
	}
	if doc.Text() == "" {
		r.reportNode(f, name, "%s has no comment: say what it is, in a sentence that begins with %s", name.Name, name.Name)
	} else {
		r.reportNode(f, name, "the comment of %s does not begin with its name", name.Name)
	}
}
