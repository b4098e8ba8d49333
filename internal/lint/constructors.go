package lint

import (
	"go/ast"
	"slices"
	"strings"
	"unicode"
)

// checkConstructorsStartNothing reports each place in a function or method called New… that starts a goroutine.
// The Run method of the value should start it.
func checkConstructorsStartNothing(r *findings, _ Codebase) {
	for _, p := range r.m.Packages {
		for _, f := range p.productionFiles() {
			for _, d := range f.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || !isExportedConstructor(fn.Name.Name) || fn.Body == nil {
					continue
				}
				ast.Inspect(fn.Body, func(n ast.Node) bool {
					if startsGoroutine(n) {
						r.reportNode(f, n, "%s starts something: New starts nothing, Run does", fn.Name.Name)
					}
					return true
				})
			}
		}
	}
}

// isExportedConstructor reports whether a name is New, or New and then a capital letter.
func isExportedConstructor(name string) bool {
	rest, ok := strings.CutPrefix(name, "New")
	return ok && (rest == "" || unicode.IsUpper(rune(rest[0])))
}

// startsGoroutine reports whether n is a go statement, a call of a function or method called Go, or a call of
// executor.Each.
func startsGoroutine(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GoStmt:
		return true
	case *ast.CallExpr:
		s, ok := n.Fun.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		x, _ := s.X.(*ast.Ident)
		return s.Sel.Name == "Go" || s.Sel.Name == "Each" && x != nil && x.Name == "executor"
	}
	return false
}

// checkConstructorExamples reports each constructor (New…) of a package outside internal directories that no
// runnable example calls. An example is runnable if it has an Output comment.
func checkConstructorExamples(r *findings, _ Codebase) {
	for _, p := range r.m.Packages {
		if p.Name == "main" || slices.Contains(strings.Split(p.Dir, "/"), "internal") {
			continue
		}
		called := functionsCalledByExamples(p)
		for _, f := range p.productionFiles() {
			for _, d := range f.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if ok && fn.Recv == nil && isExportedConstructor(fn.Name.Name) && !called[fn.Name.Name] {
					r.reportNode(f, fn, "no Example with an Output calls %s: show it in ten lines", fn.Name.Name)
				}
			}
		}
	}
}

// functionsCalledByExamples returns the names of the functions that the runnable examples of a package call,
// without their packages or receivers.
func functionsCalledByExamples(p *Package) map[string]bool {
	called := map[string]bool{}
	for _, f := range p.testFiles() {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv != nil || !strings.HasPrefix(fn.Name.Name, "Example") || !hasOutputComment(f, fn) {
				continue
			}
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					called[calledName(call.Fun)] = true
				}
				return true
			})
		}
	}
	return called
}

// calledName returns the last name in the expression of a called function, for example New of podworkers.New.
// It returns "" if the expression is no name.
func calledName(fun ast.Expr) string {
	switch x := fun.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return x.Sel.Name
	case *ast.IndexExpr:
		return calledName(x.X)
	}
	return ""
}

// hasOutputComment reports whether the body of an example has a comment that begins with "Output:" or
// "Unordered output:". Without such a comment, go test does not run the example.
func hasOutputComment(f *File, fn *ast.FuncDecl) bool {
	return slices.ContainsFunc(f.Comments, func(c *ast.CommentGroup) bool {
		text := strings.ToLower(c.Text())
		return c.Pos() > fn.Body.Pos() && c.End() < fn.Body.End() &&
			(strings.HasPrefix(text, "output:") || strings.HasPrefix(text, "unordered output:"))
	})
}
