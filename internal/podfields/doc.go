// Package podfields lists the fields of a pod: the fields of the API types in use, and the fields that newer versions
// of the API have and the types in use lack.
//
// A decoder ignores a field that its types lack. Some fields restrict a pod, such as bindMountOptions of a volume
// mount. A pod that runs without them may do more than its author allowed. So a program that decodes a pod from JSON or
// YAML calls [Newer] for each field that it does not know, and rejects the pod if the field is listed. [FindInPod] and
// [FindInPods] search a request or response body of the API. In protobuf every field that the types lack belongs to a
// newer version. [NextField] parses the protobuf wire format, because protowire of google.golang.org/protobuf reads the
// file of the executable when it is loaded.
//
// The list is generated from the newest k8s.io/api:
//
//	go generate ./internal/podfields
//
// CI compares it with the newest released version (step fields of .ci/run).
//
// The functions depend on their arguments and on the types in use alone. The first call builds tables of the types.
package podfields

//go:generate go run ./generate -write newer.go
