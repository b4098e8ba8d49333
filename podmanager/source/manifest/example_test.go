package manifest_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing/fstest"

	"github.com/podkeel/podkeel/podmanager/source/manifest"
)

// A source can be scanned once, without a Mux and without Run, for example to check a directory.
func ExampleNew() {
	files := fstest.MapFS{
		"web.yaml": {Data: []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: c, image: nginx}]}\n")},
		"bad.yaml": {Data: []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: bad}\nspec:\n  containers:\n  - name: c\n    Image: nginx\n")},
	}
	s, err := manifest.New(manifest.Config{
		FS: files, Path: ".", NodeName: "Edge-1",
		Report: func(p manifest.Problem) { fmt.Println(p) },
	})
	if err != nil {
		panic(err)
	}
	snapshot, err := s.Scan(context.Background())
	for _, pod := range snapshot.Pods {
		fmt.Println(pod.Namespace, pod.Name, pod.UID)
	}
	fmt.Println(snapshot.Incomplete, err)
	// Output:
	// bad.yaml: line 6: spec.containers[0].image: missing: expected the name of an image
	// bad.yaml: line 7: spec.containers[0].Image: unknown field (did you mean "image"?), ignored
	// default web-edge-1 c4f2e97a3759bb22d08250254a2376a3
	// true <nil>
}

// Decode is for programs that get manifests in another way and deliver the pods themselves.
func ExampleDecode() {
	pods, err := manifest.Decode([]byte(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "job"},
		"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "busybox:1.37"}]}}`))
	fmt.Println(pods[0].Name, pods[0].Spec.Containers[0].ImagePullPolicy, err)

	_, err = manifest.Decode([]byte("apiVersion: v1\nkind: Pod\nmetadata: {name: job}\nspec: {restartPolicy: Sometimes}\n"))
	fmt.Println(err)
	// Output:
	// job IfNotPresent <nil>
	// line 4: spec.restartPolicy: "Sometimes": expected one of Always, OnFailure, Never
	// line 4: spec.containers: missing: expected at least one container
}

// A manifest of a server. A node registers the source under the name "http". With a StateDir its pods survive a restart
// while the server is down.
func ExampleNewURL() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println("token:", r.Header.Get("X-Token"))
		fmt.Fprintln(w, "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: c, image: nginx}]}}")
	}))
	defer server.Close()
	s, err := manifest.NewURL(manifest.URLConfig{
		URL: server.URL + "/pods.yaml", Header: http.Header{"X-Token": {"t"}}, NodeName: "edge-1",
	})
	if err != nil {
		panic(err)
	}
	snapshot, err := s.Poll(context.Background())
	for _, pod := range snapshot.Pods {
		fmt.Println(pod.Namespace, pod.Name)
	}
	fmt.Println(snapshot.Incomplete, err)
	// Output:
	// token: t
	// default web-edge-1
	// false <nil>
}
