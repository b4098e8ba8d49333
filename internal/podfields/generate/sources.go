package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/podkeel/podkeel/internal/podfields"
)

// sources are the types of some packages, by import path and name.
type sources map[string]map[string]declared

// declared is a type, and the imports of its file by their names there.
type declared struct {
	expr    ast.Expr
	imports map[string]string
	// readsItself: it has a method UnmarshalJSON.
	readsItself bool
}

// read adds the types of a directory.
func (s sources) read(dir, importPath string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("cannot read the sources of %s: %w", importPath, err)
	}
	types, own := map[string]declared{}, map[string]bool{}
	for _, entry := range entries {
		if path.Ext(entry.Name()) != ".go" || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path.Join(dir, entry.Name()), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		imports := importsOf(file)
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.Name == "UnmarshalJSON" && d.Recv != nil {
					own[nameOf(d.Recv.List[0].Type)] = true
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if t, ok := spec.(*ast.TypeSpec); ok {
						types[t.Name.Name] = declared{expr: t.Type, imports: imports}
					}
				}
			}
		}
	}
	for name := range own {
		if t, ok := types[name]; ok {
			t.readsItself = true
			types[name] = t
		}
	}
	s[importPath] = types
	return nil
}

func importsOf(file *ast.File) map[string]string {
	imports := map[string]string{}
	for _, i := range file.Imports {
		full, _ := strconv.Unquote(i.Path.Value) // The parser has seen it.
		name := full[strings.LastIndex(full, "/")+1:]
		if i.Name != nil {
			name = i.Name.Name
		}
		imports[name] = full
	}
	return imports
}

func nameOf(e ast.Expr) string {
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	if id, ok := e.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// paths returns the paths of all fields of a type, in the form of podfields.Paths, with their numbers
// in protobuf.
func (s sources) paths(importPath, name string) (map[string]int, error) {
	t, ok := s[importPath][name]
	if !ok {
		return nil, fmt.Errorf("%s has no type %s", importPath, name)
	}
	found := map[string]int{}
	s.add(found, t.expr, place{in: importPath, file: t.imports})
	return found, nil
}

// place is where a type is met: its path in the pod, and the file that names it.
type place struct {
	path  string
	in    string
	file  map[string]string
	above []string // the types that it lies in
}

// add adds the paths beneath one place.
func (s sources) add(found map[string]int, e ast.Expr, at place) {
	switch e := e.(type) {
	case *ast.StarExpr:
		s.add(found, e.X, at)
	case *ast.ArrayType:
		at.path += "[]"
		s.add(found, e.Elt, at)
	case *ast.Ident:
		s.named(found, at.in, e.Name, at)
	case *ast.SelectorExpr:
		s.named(found, at.file[nameOf(e.X)], e.Sel.Name, at)
	case *ast.StructType:
		for _, f := range e.Fields.List {
			s.field(found, f, at)
		}
	}
}

// named adds the paths of a type that has a name. Types of other packages, such as
// quantities, have no fields.
func (s sources) named(found map[string]int, in, name string, at place) {
	t, ok := s[in][name]
	full := in + "." + name
	if !ok || t.readsItself || slices.Contains(at.above, full) {
		return
	}
	s.add(found, t.expr, place{path: at.path, in: in, file: t.imports, above: append(slices.Clone(at.above), full)})
}

func (s sources) field(found map[string]int, f *ast.Field, at place) {
	tag := reflect.StructTag("")
	if f.Tag != nil {
		text, _ := strconv.Unquote(f.Tag.Value)
		tag = reflect.StructTag(text)
	}
	name := podfields.JSONName(reflect.StructField{Tag: tag})
	embedded := len(f.Names) == 0
	switch {
	case name == "-" || !embedded && !f.Names[0].IsExported():
		return
	case name != "" && at.path == "":
		at.path = name
	case name != "":
		at.path += "." + name
	}
	if name != "" {
		found[at.path] = protobufNumber(tag)
	}
	s.add(found, f.Type, at)
}

// protobufNumber is the number of a field in protobuf, or zero.
func protobufNumber(tag reflect.StructTag) int {
	parts := strings.Split(tag.Get("protobuf"), ",")
	n, _ := strconv.Atoi(parts[min(1, len(parts)-1)])
	return n
}
