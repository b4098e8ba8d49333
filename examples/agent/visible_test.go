package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/podmanager/source/manifest"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/node/explain"
)

// hostile is a text that clears the screen, sets the title, reverses the text direction, and forges a line. It uses C0
// and C1 controls, an OSC sequence, bidi overrides, and bytes that are not UTF-8.
const hostile = "a\x1b[2J\x1b]0;t\a\u009b31m\u202egnp\u2066\u200b\r\nforged  1/1  Running\x7f\xff\x9b"

// spoil puts the hostile text into every string of a value.
func spoil(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(hostile)
	case reflect.Pointer:
		if v.IsNil() && v.Type().Elem() != reflect.TypeFor[metav1.Time]() && v.Type().Elem().PkgPath() == "k8s.io/api/core/v1" {
			return
		}
		if !v.IsNil() {
			spoil(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				spoil(v.Field(i))
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		if v.Len() == 0 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		}
		for i := range v.Len() {
			spoil(v.Index(i))
		}
	case reflect.Map:
		m := reflect.MakeMap(v.Type())
		if v.Type().Key().Kind() == reflect.String && v.Type().Elem().Kind() == reflect.String {
			m.SetMapIndex(reflect.ValueOf(hostile).Convert(v.Type().Key()), reflect.ValueOf(hostile).Convert(v.Type().Elem()))
		}
		v.Set(m)
	}
}

// hostilePods returns pods in several states, with hostile text in each string.
func hostilePods() (pods []*v1.Pod) {
	for _, state := range []v1.ContainerState{
		{Waiting: &v1.ContainerStateWaiting{}}, {Running: &v1.ContainerStateRunning{}}, {Terminated: &v1.ContainerStateTerminated{ExitCode: 1}},
	} {
		pod := &v1.Pod{Spec: v1.PodSpec{Containers: make([]v1.Container, 1)}}
		pod.Status.ContainerStatuses = []v1.ContainerStatus{{State: state, LastTerminationState: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{}}}}
		pod.Status.InitContainerStatuses = []v1.ContainerStatus{{State: state}}
		spoil(reflect.ValueOf(&pod.ObjectMeta).Elem())
		spoil(reflect.ValueOf(&pod.Status).Elem())
		pod.DeletionTimestamp = nil
		bare := pod.DeepCopy()
		bare.Status.Reason = "" // What the containers say is shown then.
		pods = append(pods, pod, bare)
	}
	return pods
}

// harmless fails unless the text has no control characters but line breaks and tabs.
func harmless(t *testing.T, what, text string) {
	t.Helper()
	assert.True(t, utf8.ValidString(text), "%s: %q", what, text)
	assert.False(t, strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }), "%s: %q", what, text)
	assert.NotRegexp(t, `(?m)^forged`, text, what)
	assert.NotEmpty(t, text, what)
}

// TestVisible_EveryPlace: no printed string of a pod or a container controls the terminal.
func TestVisible_EveryPlace(t *testing.T) {
	pods := hostilePods()
	var out bytes.Buffer
	said := func(what string) {
		t.Helper()
		harmless(t, what, out.String())
		out.Reset()
	}

	lines := newRowPrinter(&out)
	for i, pod := range pods {
		pod.UID = "u" + pod.UID[:0]
		require.NoError(t, lines.updatePod(node.PodState{Pod: pod}), i)
	}
	said("the lines of the agent")

	for _, format := range []string{"text", "json"} {
		o := options{logFormat: format, events: true}
		log := o.newLogger(&out)
		e := o.newEventPrinter(&out, log)
		e.Event(pods[0], hostile, hostile, hostile)
		e.Event(&v1.ObjectReference{Namespace: hostile, Name: hostile}, hostile, hostile, hostile)
		said("events in " + format)
		log.Warn("trouble", slog.String("text", hostile), slog.Any("err", fmt.Errorf("it said: %s", hostile)), slog.String(hostile, "x"))
		said("the log in " + format)
		problemLogger(log)(manifest.Problem{Path: hostile, Err: fmt.Errorf("it said: %s", hostile)})
		said("problems with manifests in " + format)
	}

	page := &explain.Explanation{Containers: make([]explain.Container, 1), Conditions: make([]explain.Condition, 1), History: make([]explain.Entry, 1), Probes: make([]explain.Probe, 1)}
	spoil(reflect.ValueOf(page).Elem())
	for _, asked := range [][]string{{"ps"}, {"ps", "-o", "json"}, {"explain", "x"}, {"explain", "x", "--output=json"}, {"explain", "fail"}, {"logs", "fail"}, {"explain", hostile}} {
		s := httptest.NewServer(answers(t, pods, page))
		code, stdout, stderr := called(append(asked, "--server", strings.TrimPrefix(s.URL, "http://"))...)
		s.Close()
		harmless(t, fmt.Sprint(asked, code), stdout+stderr)
		if asked[len(asked)-1] == "json" || asked[len(asked)-1] == "--output=json" {
			assert.True(t, json.Valid([]byte(stdout)), stdout)
		}
	}
}

// answers is a server that behaves like an agent with hostile pods.
func answers(t *testing.T, pods []*v1.Pod, page *explain.Explanation) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/pods":
			list := v1.PodList{}
			for _, pod := range pods {
				list.Items = append(list.Items, *pod)
			}
			assert.NoError(t, json.NewEncoder(w).Encode(list))
		case strings.HasSuffix(r.URL.Path, "/fail"):
			http.Error(w, hostile, http.StatusNotFound)
		case r.URL.Query().Get("format") == "json":
			assert.NoError(t, json.NewEncoder(w).Encode(page))
		default:
			_, _ = io.WriteString(w, strings.ReplaceAll(page.String(), "\nforged", ""))
		}
	})
}

// screenful is a writer that is a terminal.
type screenful struct{ bytes.Buffer }

// Size implements terminal.
func (*screenful) Size() (width, height int) { return 80, 24 }

// TestVisible_Logs: the output of a container is unchanged, unless it goes to a terminal and --raw is not given.
func TestVisible_Logs(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/pods" {
			_, _ = io.WriteString(w, `{"items":[]}`)
			return
		}
		w.Header().Set("Trailer", "Podkeel-Exit-Code")
		_, _ = io.WriteString(w, hostile)
		w.Header().Set("Podkeel-Exit-Code", "0")
	}))
	defer s.Close()
	for _, c := range []struct {
		args []string
		to   io.Writer
		raw  bool
	}{
		{[]string{"logs", "x"}, &bytes.Buffer{}, true},
		{[]string{"logs", "x"}, &screenful{}, false},
		{[]string{"logs", "x", "--raw"}, &screenful{}, true},
		{[]string{"exec", "x", "--", "true"}, &bytes.Buffer{}, true},
		{[]string{"exec", "x", "--", "true"}, &screenful{}, false},
		{[]string{"exec", "--raw", "x", "--", "true"}, &screenful{}, true},
	} {
		args := append([]string{c.args[0], "--server", strings.TrimPrefix(s.URL, "http://")}, c.args[1:]...)
		var log output
		assert.Equal(t, exitOK, run(args, nil, c.to, &log), log.String())
		text := c.to.(fmt.Stringer).String()
		if c.raw {
			assert.Equal(t, hostile, text)
		} else {
			assert.Equal(t, `a\x1b[2J\x1b]0;t\a\u009b31m\u202egnp\u2066\u200b\r`+"\n"+`forged  1/1  Running\x7f\xff\x9b`, text)
		}
	}
}
