package localapi

import (
	"net/http"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// openAPIv2 is the media type in which kubectl asks for version 2, answeredOpenAPIv2 how a server spells
// it, and emptyOpenAPI an empty document in it: the field swagger is 2.0. With it kubectl says of a
// manifest of a kind that is not served that there is no such kind, and not that it cannot be validated.
const (
	openAPIv2         = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
	answeredOpenAPIv2 = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
	emptyOpenAPI      = "\x0a\x032.0"
)

// openAPI answers what kubectl wants to know before it writes, that there is validation of
// fields by the server, and what kubectl explain prints.
func (b *backend) openAPI(w http.ResponseWriter, r *http.Request) {
	type object = map[string]any
	groups := map[string]schema.GroupVersion{"api/v1": v1.SchemeGroupVersion, "apis/coordination.k8s.io/v1": coordinationv1.SchemeGroupVersion}
	path, isV3 := strings.CutPrefix(r.URL.Path, "/openapi/v3")
	group, known := groups[strings.TrimPrefix(path, "/")]
	switch {
	case r.URL.Path == "/openapi/v2" && strings.Contains(r.Header.Get("Accept"), openAPIv2):
		header(w, answeredOpenAPIv2)
		_, _ = w.Write([]byte(emptyOpenAPI)) // If this fails the client has gone.
	case r.URL.Path == "/openapi/v2":
		sendJSON(w, http.StatusOK, object{"swagger": "2.0", "info": openAPIInfo(), "paths": object{}})
	case isV3 && path == "":
		paths := object{}
		for name := range groups {
			paths[name] = object{"serverRelativeURL": "/openapi/v3/" + name}
		}
		sendJSON(w, http.StatusOK, object{"paths": paths})
	case isV3 && known:
		sendJSON(w, http.StatusOK, b.openAPIv3(group))
	default:
		sendError(w, errNoSuchPath())
	}
}

func openAPIInfo() any {
	return map[string]string{"title": "Kubernetes", "version": Version}
}

// openAPIv3 is a document with the kinds of a group and their fields. Of the operations it has
// those that tell which resource is of which kind, and those on pods that validate fields.
func (b *backend) openAPIv3(of schema.GroupVersion) any {
	type object = map[string]any
	prefix := prefixOf(of)
	paths, all := object{}, schemas{}
	for _, r := range b.served {
		if r.of != of {
			continue
		}
		kind := object{"group": of.Group, "version": of.Version, "kind": r.Kind}
		all.kind(r.empty(), kind)
		operation := func(verb string) object {
			return object{
				"x-kubernetes-group-version-kind": kind, "x-kubernetes-action": verb,
				"parameters": []object{{"name": "fieldValidation", "in": "query", "schema": object{"type": "string", "uniqueItems": true}}},
				"responses":  object{"200": object{"description": "OK"}},
			}
		}
		path := prefix + r.Name
		if r.Namespaced {
			path = prefix + "namespaces/{namespace}/" + r.Name
		}
		paths[path] = object{"get": operation("list")}
		if r.Name == "pods" {
			paths[path].(object)["post"] = operation("post")
			paths[path+"/{name}"] = object{"patch": operation("patch")}
		}
	}
	return object{"openapi": "3.0.0", "info": openAPIInfo(), "paths": paths, "components": object{"schemas": all}}
}
