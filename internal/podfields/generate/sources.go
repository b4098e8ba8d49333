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

// packageTypes holds the type declarations of some packages, by import path and type name.
type packageTypes map[string]map[string]typeDecl

// typeDecl is a type declaration, and the imports of its file by their local names.
type typeDecl struct {
	expr    ast.Expr
	imports map[string]string
	// hasUnmarshalJSON means that the type has a method UnmarshalJSON.
	hasUnmarshalJSON bool
}

// addPackage parses the Go files in a directory and stores their types under importPath. It skips test files.
func (s packageTypes) addPackage(dir, importPath string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("cannot read the sources of %s: %w", importPath, err)
	}
	types, unmarshalers := map[string]typeDecl{}, map[string]bool{}
	for _, entry := range entries {
		if path.Ext(entry.Name()) != ".go" || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path.Join(dir, entry.Name()), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		imports := importPaths(file)
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.Name == "UnmarshalJSON" && d.Recv != nil {
					unmarshalers[typeName(d.Recv.List[0].Type)] = true
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if t, ok := spec.(*ast.TypeSpec); ok {
						types[t.Name.Name] = typeDecl{expr: t.Type, imports: imports}
					}
				}
			}
		}
	}
	for name := range unmarshalers {
		if t, ok := types[name]; ok {
			t.hasUnmarshalJSON = true
			types[name] = t
		}
	}
	s[importPath] = types
	return nil
}

// importPaths returns a map from the local names to the paths of a file's imports.
func importPaths(file *ast.File) map[string]string {
	imports := map[string]string{}
	for _, i := range file.Imports {
		full, _ := strconv.Unquote(i.Path.Value) // The parser has checked the syntax.
		name := full[strings.LastIndex(full, "/")+1:]
		if i.Name != nil {
			name = i.Name.Name
		}
		imports[name] = full
	}
	return imports
}

// typeName returns the name of a type or of a pointer to it. It returns "" for any other type expression.
func typeName(e ast.Expr) string {
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	if id, ok := e.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// protobufNumbersByFieldPath returns the paths of all fields of a type with their protobuf numbers. The paths have the format
// of podfields.Paths. It returns an error if the package has no such type.
func (s packageTypes) protobufNumbersByFieldPath(importPath, name string) (map[string]int, error) {
	t, ok := s[importPath][name]
	if !ok {
		return nil, fmt.Errorf("%s has no type %s", importPath, name)
	}
	found := map[string]int{}
	s.addFieldPathsOfTypeExpr(found, t.expr, typeContext{importPath: importPath, imports: t.imports})
	return found, nil
}

// typeContext is the path of a type in the pod, and the package and imports of the file that refers to it.
type typeContext struct {
	path       string
	importPath string
	imports    map[string]string
	ancestors  []string // the types around it, to detect recursion
}

// addFieldPathsOfTypeExpr adds to found the path of each field that a type expression contains. For a pointer or a slice
// these are the fields of its element type. For a named type it also adds the fields of the types of its fields,
// and so on.
func (s packageTypes) addFieldPathsOfTypeExpr(found map[string]int, e ast.Expr, at typeContext) {
	switch e := e.(type) {
	case *ast.StarExpr:
		s.addFieldPathsOfTypeExpr(found, e.X, at)
	case *ast.ArrayType:
		at.path += "[]"
		s.addFieldPathsOfTypeExpr(found, e.Elt, at)
	case *ast.Ident:
		s.addNamedTypePaths(found, at.importPath, e.Name, at)
	case *ast.SelectorExpr:
		s.addNamedTypePaths(found, at.imports[typeName(e.X)], e.Sel.Name, at)
	case *ast.StructType:
		for _, f := range e.Fields.List {
			s.addFieldPaths(found, f, at)
		}
	}
}

// addNamedTypePaths adds the paths of the fields of a named type to found. It adds nothing for a type inside
// itself, with an UnmarshalJSON method, or of a package that was not read, such as a quantity.
func (s packageTypes) addNamedTypePaths(found map[string]int, importPath, name string, at typeContext) {
	t, ok := s[importPath][name]
	full := importPath + "." + name
	if !ok || t.hasUnmarshalJSON || slices.Contains(at.ancestors, full) {
		return
	}
	s.addFieldPathsOfTypeExpr(found, t.expr, typeContext{path: at.path, importPath: importPath, imports: t.imports, ancestors: append(slices.Clone(at.ancestors), full)})
}

// addFieldPaths adds the path of a struct field, and the paths of the fields in its type, to found. It skips
// unexported fields and fields that are not in JSON.
func (s packageTypes) addFieldPaths(found map[string]int, f *ast.Field, at typeContext) {
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
	s.addFieldPathsOfTypeExpr(found, f.Type, at)
}

// protobufNumber returns the protobuf field number in a struct tag, or 0 if the tag has none.
func protobufNumber(tag reflect.StructTag) int {
	parts := strings.Split(tag.Get("protobuf"), ",")
	n, _ := strconv.Atoi(parts[min(1, len(parts)-1)])
	return n
}
