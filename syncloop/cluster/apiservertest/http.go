package apiservertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/podkeel/podkeel/syncloop/internal/inprocess"
)

// RoundTripper returns a transport for HTTP clients in this process, such as client-go and controller-runtime. It needs
// no listener, TLS or connection. In a testing/synctest bubble, virtual time advances while a client waits for a watch.
// The server ignores the host of the URL, and needs the real clock, which is virtual in the bubble:
//
//	config := &rest.Config{Host: "http://memory", Transport: server.RoundTripper(), QPS: -1}
//
// Each client has all rights. Its requests are in Requests with an empty Node, and faults affect them. The clients
// create, get, list, watch, update, patch and delete the objects of an Object's kinds and of Config.Resources, bind
// pods with pods/binding and evict them with pods/eviction. Requests are JSON or, for the kinds of Kubernetes, protobuf.
// Responses are JSON. The package comment lists the limits.
func (s *Server) RoundTripper() http.RoundTripper { return Transport{s} }

// Transport is the http.RoundTripper of a Server.
type Transport struct{ server *Server }

// Server returns the server behind the transport.
func (t Transport) Server() *Server { return t.server }

// CloseIdleConnections does nothing, because there are no connections. Clients call it.
func (Transport) CloseIdleConnections() {}

// RoundTrip implements http.RoundTripper.
func (t Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	return inprocess.RoundTrip(t.server.serveHTTP, r)
}

// httpRequest is one request for objects.
type httpRequest struct {
	*http.Request
	s                            *Server
	c                            *Client // sends the request without the restrictions of a node
	w                            http.ResponseWriter
	resource                     *servedResource
	namespace, name, subresource string
}

// serveHTTP serves a request. An error means that the client gets no complete response.
func (s *Server) serveHTTP(w http.ResponseWriter, r *http.Request) error {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	var version schema.GroupVersion
	switch {
	case parts[0] == "api" && len(parts) > 2:
		version, parts = schema.GroupVersion{Version: parts[1]}, parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		version, parts = schema.GroupVersion{Group: parts[1], Version: parts[2]}, parts[3:]
	default:
		s.serveDiscovery(w, r, parts)
		return nil
	}
	h := &httpRequest{Request: r, s: s, c: s.Client(""), w: w}
	if parts[0] == "namespaces" && len(parts) > 2 {
		h.namespace, parts = parts[1], parts[2:]
	}
	h.resource = s.findServed(version, parts[0])
	if h.resource == nil || len(parts) > 3 || h.namespace != "" && !h.resource.Namespaced {
		return sendFailure(w, newPathError(r.URL.Path))
	}
	if len(parts) > 1 {
		h.name = parts[1]
	}
	if len(parts) > 2 {
		h.subresource = parts[2]
	}
	return sendFailure(w, h.serveRequest())
}

// newPathError returns the error for a path that the server does not serve.
func newPathError(path string) error {
	err := apierrors.NewNotFound(schema.GroupResource{}, "")
	err.ErrStatus.Message = fmt.Sprintf("the server could not find the requested resource: package apiservertest does not serve %s", path)
	return err
}

// serveRequest serves the request by its method. The error is not sent yet.
func (h *httpRequest) serveRequest() error {
	if h.URL.Query().Get("dryRun") != "" {
		return apierrors.NewBadRequest("package apiservertest has no dry runs")
	}
	switch path := h.Method + " " + h.subresource; {
	case path == "GET " && h.name == "" && h.URL.Query().Get("watch") == "true", path == "GET " && h.name == "" && h.URL.Query().Get("watch") == "1":
		return h.serveWatch()
	case path == "GET " && h.name == "":
		return h.serveList()
	case path == "GET ", path == "GET status" && h.resource.hasStatus:
		return h.serveGet()
	case path == "POST " && h.name == "":
		return h.serveCreate()
	case path == "POST binding" && h.resource.key == "pods":
		return h.serveBinding()
	case path == "POST eviction" && h.resource.key == "pods":
		return h.serveEviction()
	case h.name == "" && path == "DELETE ":
		return h.serveDeleteCollection()
	case h.name == "":
	case path == "PUT ", path == "PUT status" && h.resource.hasStatus:
		return h.serveUpdate()
	case path == "PATCH ", path == "PATCH status" && h.resource.hasStatus:
		return h.servePatch()
	case path == "DELETE ":
		return h.serveDelete()
	}
	return newPathError(h.URL.Path)
}

// newRequest returns the record of the request.
func (h *httpRequest) newRequest(verb string) Request {
	resource := h.resource.key
	if h.subresource != "" {
		resource += "/" + h.subresource
	}
	return Request{Verb: verb, Resource: resource, Namespace: h.namespace, Name: h.name}
}

// objectKey returns the key of the object that the path names.
func (h *httpRequest) objectKey() objectKey {
	return objectKey{h.resource.key, h.namespace, h.name}
}

// sendObject sends an object, with its kind.
func (h *httpRequest) sendObject(code int, o Object) error {
	o = h.resource.toServed(o.DeepCopyObject().(Object))
	o.GetObjectKind().SetGroupVersionKind(h.resource.groupVersionKind())
	return sendJSON(h.w, code, o)
}

// sendJSON sends a JSON response.
func sendJSON(w http.ResponseWriter, code int, o any) error {
	text, err := json.Marshal(o)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(text) // The client has gone.
	return nil
}

// sendFailure sends an error that has an API status, and returns any other error.
func sendFailure(w http.ResponseWriter, err error) error {
	var refusal apierrors.APIStatus
	if err == nil || !errors.As(err, &refusal) {
		return err
	}
	status := refusal.Status()
	status.Kind, status.APIVersion = "Status", "v1"
	return sendJSON(w, int(status.Code), status)
}

// serveDiscovery serves the version, the health and the discovery of the server. Any other path is not found.
func (s *Server) serveDiscovery(w http.ResponseWriter, r *http.Request, parts []string) {
	var out any
	lists := s.resourceLists()
	switch path := strings.Join(parts, "/"); {
	case path == "version":
		out = map[string]string{"major": "1", "minor": "36", "gitVersion": "v1.36.0"}
	case path == "healthz", path == "livez", path == "readyz":
		out = "ok"
	case path == "api":
		out = metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}}
	case path == "apis":
		out = newGroupList(lists)
	case parts[0] == "apis" && len(parts) == 2:
		for _, group := range newGroupList(lists).Groups {
			if group.Name == parts[1] {
				group.TypeMeta = metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
				out = group
			}
		}
	default:
		for _, list := range lists {
			if path == "apis/"+list.GroupVersion || path == "api/v1" && list.GroupVersion == v1.SchemeGroupVersion.String() {
				out = list
			}
		}
	}
	if out == nil || r.Method != http.MethodGet {
		_ = sendFailure(w, newPathError(r.URL.Path)) // It has a status.
		return
	}
	_ = sendJSON(w, http.StatusOK, out) // Discovery can be marshaled.
}

// newGroupList returns the groups of the discovery, without the core group.
func newGroupList(lists []*metav1.APIResourceList) *metav1.APIGroupList {
	out := &metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{}}
	for _, list := range lists {
		group, version, ok := strings.Cut(list.GroupVersion, "/")
		if !ok {
			continue
		}
		v := metav1.GroupVersionForDiscovery{GroupVersion: list.GroupVersion, Version: version}
		if n := len(out.Groups); n > 0 && out.Groups[n-1].Name == group {
			out.Groups[n-1].Versions = append(out.Groups[n-1].Versions, v)
			continue
		}
		out.Groups = append(out.Groups, metav1.APIGroup{Name: group, Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v})
	}
	return out
}
