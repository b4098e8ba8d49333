// Package podfields lists the fields of a pod: the fields of the API types in use, and the fields
// that newer versions of the API have and the types in use lack.
//
// A decoder drops a field that its types lack. Some fields restrict a pod, such as
// bindMountOptions of a volume mount: a pod that runs without them may do more than its
// author allowed. So a program that reads a pod as JSON or YAML asks [Newer] about
// fields that it does not know, and refuses the pod if one of them is listed. [FindInPod] and
// [FindInPods] read a body of the API; in protobuf every field that the types lack is of a newer version.
// [NextField] reads the wire format, because protowire of google.golang.org/protobuf reads the
// program's file when it is loaded.
//
// The list is generated from the newest k8s.io/api:
//
//	go generate ./internal/podfields
//
// CI compares it with the newest released version (step fields of .ci/run).
//
// Its functions depend on their arguments and on the types in use alone. Tables of the types are
// made once, at the first call that needs them.
package podfields

//go:generate go run ./generate -write newer.go
