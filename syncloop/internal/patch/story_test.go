package patch_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/podkeel/podkeel/syncloop/internal/patch"
)

// TestStories runs the texts in testdata. Statuses are YAML. The result of a patch on the server's status is YAML too.
//
//	pod     the patch from the server's status to the wanted one, after a line ===
//	node    the same for a node
//	delete  whether the final delete of UID a is due
//
// With the argument unknown the node does not know what the server has.
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "pod":
				return story(t, d, func(server, want *v1.PodStatus) ([]byte, error) { return patch.PodStatus("a", server, want) })
			case "node":
				return story(t, d, patch.NodeStatus)
			case "delete":
				var pod v1.Pod
				require.NoError(t, yaml.UnmarshalStrict([]byte(d.Input), &pod))
				return fmt.Sprintln(patch.CanDelete(&pod, "a", !d.HasArg("running")))
			default:
				t.Fatalf("%s?", d.Cmd)
				return ""
			}
		})
	})
}

func story[S any](t *testing.T, d *datadriven.TestData, make func(server, want *S) ([]byte, error)) string {
	texts := strings.Split(d.Input, "===")
	var server, want S
	require.NoError(t, yaml.UnmarshalStrict([]byte(texts[0]), &server))
	require.NoError(t, yaml.UnmarshalStrict([]byte(texts[1]), &want))
	base := &server
	if d.HasArg("unknown") {
		base = nil
	}
	p, err := make(base, &want)
	require.NoError(t, err)
	if p == nil {
		return "nothing\n"
	}
	var out bytes.Buffer
	require.NoError(t, json.Indent(&out, p, "", " "))
	fmt.Fprintf(&out, "\n===\n%s", asYAML(t, apply(t, server, p)))
	return out.String()
}

// apply applies a patch as a server does.
func apply[S any](t require.TestingT, server S, p []byte) S {
	type resource struct {
		Status S `json:"status"`
	}
	raw, err := json.Marshal(resource{server})
	require.NoError(t, err)
	got, err := strategicpatch.StrategicMergePatch(raw, p, resource{})
	require.NoError(t, err)
	var r resource
	require.NoError(t, json.Unmarshal(got, &r))
	return r.Status
}

func asYAML(t *testing.T, v any) string {
	text, err := yaml.Marshal(v)
	require.NoError(t, err)
	return string(text)
}

var pods = schema.GroupResource{Resource: "pods"}

// ST-44: the meaning of each answer.
func TestAnswerToPatch_ST44(t *testing.T) {
	invalid := func(path string) error {
		return apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "p", field.ErrorList{field.Invalid(field.NewPath(path), "", "")})
	}
	var out strings.Builder
	for _, c := range []struct {
		name string
		err  error
	}{
		{"no error", nil},
		{"404", apierrors.NewNotFound(pods, "p")},
		{"409", apierrors.NewConflict(pods, "p", errors.New("uid"))},
		{"422 of the UID", invalid("metadata.uid")},
		{"422", invalid("status.podIPs")},
		{"400", apierrors.NewBadRequest("")},
		{"413", apierrors.NewRequestEntityTooLargeError("")},
		{"429", apierrors.NewTooManyRequests("", 7)},
		{"429 for years", apierrors.NewTooManyRequests("", math.MaxInt32)},
		{"504 in the past", apierrors.NewTimeoutError("", -7)},
		{"401", apierrors.NewUnauthorized("")},
		{"403", apierrors.NewForbidden(pods, "p", errors.New("no relationship"))},
		{"500", apierrors.NewInternalError(errors.New("x"))},
		{"503", apierrors.NewServiceUnavailable("")},
		{"504", apierrors.NewTimeoutError("", 3)},
		{"an answer without a reason", &apierrors.StatusError{ErrStatus: metav1.Status{Code: 599}}},
		{"a wrapped answer", fmt.Errorf("x: %w", apierrors.NewNotFound(pods, "p"))},
		{"no answer", errors.New("connection refused")},
	} {
		fmt.Fprintf(&out, "%s: %+v, delete %s\n", c.name, patch.AnswerToPatch(c.err), patch.AnswerToDelete(c.err).Kind)
	}
	require.Equal(t, `no error: {Kind:Done After:0s Forbidden:false}, delete Done
404: {Kind:Gone After:0s Forbidden:false}, delete Gone
409: {Kind:Conflict After:0s Forbidden:false}, delete Conflict
422 of the UID: {Kind:Conflict After:0s Forbidden:false}, delete Conflict
422: {Kind:Refused After:0s Forbidden:false}, delete Retry
400: {Kind:Refused After:0s Forbidden:false}, delete Retry
413: {Kind:Refused After:0s Forbidden:false}, delete Retry
429: {Kind:WaitAll After:7s Forbidden:false}, delete WaitAll
429 for years: {Kind:WaitAll After:1m0s Forbidden:false}, delete WaitAll
504 in the past: {Kind:Retry After:0s Forbidden:false}, delete Retry
401: {Kind:WaitAll After:0s Forbidden:false}, delete WaitAll
403: {Kind:Retry After:0s Forbidden:true}, delete Retry
500: {Kind:Retry After:0s Forbidden:false}, delete Retry
503: {Kind:WaitAll After:0s Forbidden:false}, delete WaitAll
504: {Kind:Retry After:3s Forbidden:false}, delete Retry
an answer without a reason: {Kind:Retry After:0s Forbidden:false}, delete Retry
a wrapped answer: {Kind:Gone After:0s Forbidden:false}, delete Gone
no answer: {Kind:WaitAll After:0s Forbidden:false}, delete WaitAll
`, out.String())
	require.Equal(t, "unknown", patch.Kind(-1).String())
}

// ST-32: after a conflict only the pod that is read again shows what to do.
func TestAnswerToGet_ST32(t *testing.T) {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "a"}}
	require.Equal(t, patch.Retry, patch.AnswerToGet("a", pod, nil).Kind)
	require.Equal(t, patch.OtherUID, patch.AnswerToGet("b", pod, nil).Kind)
	require.Equal(t, patch.Gone, patch.AnswerToGet("a", nil, apierrors.NewNotFound(pods, "p")).Kind)
	require.Equal(t, patch.WaitAll, patch.AnswerToGet("a", nil, errors.New("connection refused")).Kind)
	require.Equal(t, patch.Retry, patch.AnswerToGet("a", nil, nil).Kind)
}
