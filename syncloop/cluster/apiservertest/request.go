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

// Request is one that has arrived at the server.
type Request struct {
	// Time is when it arrived, and Node whose it was.
	Time time.Time
	Node string
	// Verb is get, list, watch, create, patch, update or delete.
	Verb string
	// Resource is the plural, with the subresource after a slash: pods/status.
	Resource string
	// Namespace and Name are the object's; a list or watch of one object has its name.
	Namespace, Name string
	// Keys are what a patch sets, in order, as metadata.uid, status.phase or
	// status.conditions[Ready Initialized].
	Keys []string
	// Body is the patch as it came.
	Body []byte
	// Code is the server's answer, as 200 or 409; zero if it was not carried out.
	Code int
	// Reason is that of a refusal.
	Reason metav1.StatusReason
	// Failed is true if the caller did not get an answer.
	Failed bool
}

// String is the request in a line, without its time.
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

// setResponse notes the server's answer.
func (r *Request) setResponse(err error) {
	r.Code, r.Reason = http.StatusOK, ""
	if status, ok := err.(apierrors.APIStatus); ok {
		r.Code, r.Reason = int(status.Status().Code), status.Status().Reason
	} else if err != nil {
		r.Code = 0
	}
}

// Requests are all that have arrived so far, in order, without those of admins.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Request, len(s.mu.requests))
	for i, r := range s.mu.requests {
		out[i] = *r
	}
	return out
}

// TakeRequests is Requests for one reader: the server forgets them.
func (s *Server) TakeRequests() []Request {
	out := s.Requests()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.requests = slices.Clone(s.mu.requests[len(out):])
	return out
}

// Watches are the requests of the streams that are open, in the order in which they began.
func (s *Server) Watches() (open []Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.mu.streams {
		open = append(open, w.request)
	}
	return open
}

// patchKeys are the keys that a patch sets.
func patchKeys(patch []byte) []string {
	var tree map[string]any
	if json.Unmarshal(patch, &tree) != nil {
		return []string{"unreadable"}
	}
	var out []string
	visitLeaves("", tree, func(path string) { out = append(out, path) })
	return out
}

func visitLeaves(at string, tree map[string]any, visit func(string)) {
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		path := strings.TrimPrefix(at+"."+name, ".")
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

// listElementTypes are the types of a list that is merged by type.
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
