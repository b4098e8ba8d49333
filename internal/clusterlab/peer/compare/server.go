//go:build peer

package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// podServer is an API server that returns pods and applies patches to their statuses. It sleeps for the distance before
// it handles a request.
type podServer struct {
	*httptest.Server
	distance time.Duration
	// patched receives the pod after each patch.
	patched chan *v1.Pod

	mu       sync.Mutex
	pods     map[string]*v1.Pod
	requests map[string]int // by method
}

// newServer returns a server with these pods.
func newServer(pods []*v1.Pod, distance time.Duration) *podServer {
	s := &podServer{distance: distance, patched: make(chan *v1.Pod, 2*len(pods)), pods: map[string]*v1.Pod{}, requests: map[string]int{}}
	for _, pod := range pods {
		s.pods[pod.Name] = pod
	}
	s.Server = httptest.NewServer(s)
	return s
}

// ServeHTTP implements http.Handler.
func (s *podServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	time.Sleep(s.distance)
	body, err := io.ReadAll(r.Body)
	exitOnError(err)
	pod := s.getOrPatchPod(r.Method, path.Base(strings.TrimSuffix(r.URL.Path, "/status")), body)
	text, err := json.Marshal(pod)
	exitOnError(err)
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // The client may have closed the connection.
	if r.Method == http.MethodPatch {
		s.patched <- pod
	}
}

// getOrPatchPod returns a pod. If the method is PATCH, it first applies the patch to the status of the pod.
func (s *podServer) getOrPatchPod(method, name string, patch []byte) *v1.Pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests[method]++
	pod := s.pods[name]
	if method != http.MethodPatch {
		return pod
	}
	before, err := json.Marshal(pod)
	exitOnError(err)
	after, err := strategicpatch.StrategicMergePatch(before, patch, v1.Pod{})
	exitOnError(err)
	next := &v1.Pod{}
	exitOnError(json.Unmarshal(after, next))
	version, err := strconv.Atoi(pod.ResourceVersion)
	exitOnError(err)
	next.ResourceVersion = strconv.Itoa(version + 1)
	next.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	s.pods[name] = next
	return next
}

// takeRequests returns the number of requests by method since the last call.
func (s *podServer) takeRequests() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.requests
	s.requests = map[string]int{}
	return all
}
