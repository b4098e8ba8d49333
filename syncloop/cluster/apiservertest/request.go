package apiservertest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Request is a request that has arrived at the server.
type Request struct {
	// Time is the time of arrival. Node is the node that sent the request.
	Time time.Time
	Node string
	// Verb is get, list, watch, create, patch, update or delete.
	Verb string
	// Resource is the plural, with the subresource after a slash: pods/status.
	Resource string
	// Namespace and Name are the object's. A list or watch of one object has its name.
	Namespace, Name string
	// Keys are the fields that a patch sets, in order, such as metadata.uid, status.phase or status.conditions[Ready
	// Initialized].
	Keys []string
	// Body is the unchanged patch.
	Body []byte
	// Code is the response code, such as 200 or 409; zero if the request was not executed.
	Code int
	// Reason is the reason of a refusal.
	Reason metav1.StatusReason
	// Failed means that the caller did not get the response.
	Failed bool
}

// String returns the request in one line, without its time.
func (r Request) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s %s", r.Verb, r.Resource)
	if r.Name != "" {
		out.WriteString(" " + strings.TrimPrefix(r.Namespace+"/"+r.Name, "/"))
	}
	if len(r.Keys) > 0 {
		out.WriteString(" " + strings.Join(r.Keys, " "))
	}
	switch {
	case r.Code == 0:
		return out.String() + ": not carried out"
	case r.Code != http.StatusOK:
		fmt.Fprintf(&out, ": %d %s", r.Code, r.Reason)
	}
	if r.Failed {
		out.WriteString(": answer lost")
	}
	return out.String()
}

// setResponse records the code and reason of the server's response. An error without an API status, such as a
// broken connection, has code 0.
func (r *Request) setResponse(err error) {
	r.Code, r.Reason = http.StatusOK, ""
	if status, ok := err.(apierrors.APIStatus); ok {
		r.Code, r.Reason = int(status.Status().Code), status.Status().Reason
	} else if err != nil {
		r.Code = 0
	}
}

// Requests returns all requests that have arrived, in order. Requests of an Admin are not included.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Request, len(s.mu.requests))
	for i, r := range s.mu.requests {
		out[i] = *r
	}
	return out
}

// TakeRequests returns the requests since its last call, and removes them.
func (s *Server) TakeRequests() []Request {
	out := s.Requests()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.requests = slices.Clone(s.mu.requests[len(out):])
	return out
}

// Watches returns the requests of the open streams, in the order in which they began.
func (s *Server) Watches() (open []Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.mu.streams {
		open = append(open, w.request)
	}
	return open
}

// patchFieldPaths returns the paths of the fields that a patch sets, or "unreadable" for a patch that is no JSON.
func patchFieldPaths(patch []byte) []string {
	var tree map[string]any
	if json.Unmarshal(patch, &tree) != nil {
		return []string{"unreadable"}
	}
	var out []string
	visitLeaves("", tree, func(path string) { out = append(out, path) })
	return out
}

// visitLeaves calls visit with the path of each leaf of a JSON tree, in order. A list is one leaf, whose path
// also names the types of its elements.
func visitLeaves(prefix string, tree map[string]any, visit func(string)) {
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		path := strings.TrimPrefix(prefix+"."+name, ".")
		switch value := tree[name].(type) {
		case map[string]any:
			visitLeaves(path, value, visit)
		case []any:
			visit(path + listElementTypes(value))
		default:
			visit(path)
		}
	}
}

// listElementTypes returns the field "type" of each element of a list in brackets, such as [Ready] for
// conditions. An element with a $patch directive has that directive after its type. Without types the result is
// empty.
func listElementTypes(list []any) string {
	var names []string
	for _, e := range list {
		fields, _ := e.(map[string]any)
		name, ok := fields["type"].(string)
		if !ok {
			continue
		}
		if d, ok := fields["$patch"].(string); ok {
			name += ":" + d
		}
		names = append(names, name)
	}
	if names == nil {
		return ""
	}
	return "[" + strings.Join(names, " ") + "]"
}
