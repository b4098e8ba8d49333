package lint

import (
	"go/ast"
	"slices"
	"strings"
	"unicode"
)

// checkConstructors reports functions called New… that start a goroutine. The Run method of the value starts it.
func checkConstructors(r *findings, _ Codebase) {
	for _, p := range r.m.Packages {
		for _, f := range p.productionFiles() {
			for _, d := range f.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || !isConstructor(fn.Name.Name) || fn.Body == nil {
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

// isConstructor reports whether a function is called New or NewSomething.
func isConstructor(name string) bool {
	rest, ok := strings.CutPrefix(name, "New")
	return ok && (rest == "" || unicode.IsUpper(rune(rest[0])))
}

// startsGoroutine reports whether n makes something run concurrently: by go, by a
// method called Go, or by executor.Each.
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

// checkConstructorExamples reports each exported constructor of a public package that no runnable example calls. An example
// is runnable if it has an Output comment.
func checkConstructorExamples(r *findings, _ Codebase) {
	for _, p := range r.m.Packages {
		if p.Name == "main" || slices.Contains(strings.Split(p.Dir, "/"), "internal") {
			continue
		}
		called := functionsCalledByExamples(p)
		for _, f := range p.productionFiles() {
			for _, d := range f.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if ok && fn.Recv == nil && isConstructor(fn.Name.Name) && !called[fn.Name.Name] {
					r.reportNode(f, fn, "no Example with an Output calls %s: show it in ten lines", fn.Name.Name)
				}
			}
		}
	}
}

// functionsCalledByExamples returns the names of all functions that the runnable examples of a package call.
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

// calledName returns the last part of a called expression: New of podworkers.New.
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

// hasOutputComment reports whether an example has an Output comment. Without one, go test does not run the example.
func hasOutputComment(f *File, fn *ast.FuncDecl) bool {
	return slices.ContainsFunc(f.Comments, func(c *ast.CommentGroup) bool {
		text := strings.ToLower(c.Text())
		return c.Pos() > fn.Body.Pos() && c.End() < fn.Body.End() &&
			(strings.HasPrefix(text, "output:") || strings.HasPrefix(text, "unordered output:"))
	})
}
