package localapi

import (
	"net/http"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kubectl requests OpenAPI version 2 with the media type openAPIv2Accept. A server answers with the spelling
// openAPIv2ContentType. emptyOpenAPIv2 is an empty document of that type, with the field swagger set to 2.0. With it,
// kubectl reports an unserved kind as "no matches for kind" and not as a failed validation.
const (
	openAPIv2Accept      = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
	openAPIv2ContentType = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
	emptyOpenAPIv2       = "\x0a\x032.0"
)

// serveOpenAPI serves the OpenAPI documents, or a 404 for other paths. kubectl reads them before a write, to
// find server-side field validation, and for kubectl explain.
func (b *backend) serveOpenAPI(w http.ResponseWriter, r *http.Request) {
	type object = map[string]any
	groups := map[string]schema.GroupVersion{"api/v1": v1.SchemeGroupVersion, "apis/coordination.k8s.io/v1": coordinationv1.SchemeGroupVersion}
	path, isV3 := strings.CutPrefix(r.URL.Path, "/openapi/v3")
	group, known := groups[strings.TrimPrefix(path, "/")]
	switch {
	case r.URL.Path == "/openapi/v2" && strings.Contains(r.Header.Get("Accept"), openAPIv2Accept):
		setHeaders(w, openAPIv2ContentType)
		_, _ = w.Write([]byte(emptyOpenAPIv2)) // It fails only if the client has disconnected.
	case r.URL.Path == "/openapi/v2":
		sendJSON(w, http.StatusOK, object{"swagger": "2.0", "info": openAPIInfo(), "paths": object{}})
	case isV3 && path == "":
		paths := object{}
		for name := range groups {
			paths[name] = object{"serverRelativeURL": "/openapi/v3/" + name}
		}
		sendJSON(w, http.StatusOK, object{"paths": paths})
	case isV3 && known:
		sendJSON(w, http.StatusOK, b.openAPIv3Document(group))
	default:
		sendError(w, errNoSuchPath())
	}
}

// openAPIInfo returns the info field of an OpenAPI document.
func openAPIInfo() any {
	return map[string]string{"title": "Kubernetes", "version": Version}
}

// openAPIv3Document returns the OpenAPI document of a group: its kinds with their fields, the operations that map a
// resource to its kind, and the operations on pods that support field validation.
func (b *backend) openAPIv3Document(groupVersion schema.GroupVersion) any {
	type object = map[string]any
	prefix := groupVersionPrefix(groupVersion)
	paths, all := object{}, schemas{}
	for _, r := range b.served {
		if r.groupVersion != groupVersion {
			continue
		}
		kind := object{"group": groupVersion.Group, "version": groupVersion.Version, "kind": r.Kind}
		all.addKind(r.newObject(), kind)
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
			paths[path+"/{name}/"+resizeSubresource] = object{"patch": operation("patch"), "put": operation("put")}
		}
	}
	return object{"openapi": "3.0.0", "info": openAPIInfo(), "paths": paths, "components": object{"schemas": all}}
}
