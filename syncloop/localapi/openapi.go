package localapi

import (
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// openAPI answers what kubectl wants to know before it writes: that there is validation of
// fields by the server.
func (a *API) openAPI(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/openapi/v3":
		sendJSON(w, http.StatusOK, map[string]any{"paths": map[string]any{"api/v1": map[string]any{"serverRelativeURL": "/openapi/v3/api/v1"}}})
	case "/openapi/v3/api/v1":
		sendJSON(w, http.StatusOK, a.openAPIv1())
	default:
		sendError(w, apierrors.NewGenericServerResponse(http.StatusNotFound, "", a.served["pods"].group(), "", "", 0, false))
	}
}

// openAPIv1 is a document with the operations on pods that validate fields.
func (a *API) openAPIv1() any {
	type object = map[string]any
	operation := func(verb string) object {
		return object{
			"x-kubernetes-group-version-kind": object{"group": "", "version": "v1", "kind": "Pod"}, "x-kubernetes-action": verb,
			"parameters": []object{{"name": "fieldValidation", "in": "query", "schema": object{"type": "string", "uniqueItems": true}}},
			"responses":  object{"200": object{"description": "OK"}},
		}
	}
	return object{
		"openapi": "3.0.0", "info": object{"title": "Kubernetes", "version": versionInfo().GitVersion},
		"paths": object{
			"/api/v1/namespaces/{namespace}/pods":        object{"post": operation("post")},
			"/api/v1/namespaces/{namespace}/pods/{name}": object{"patch": operation("patch")},
		},
		"components": object{"schemas": object{}},
	}
}
