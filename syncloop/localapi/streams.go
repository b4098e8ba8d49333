package localapi

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/internal/plain"
	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/syncloop/server"
)

// streamer serves logs, exec, attach and port-forward with the handler of package server, which serves an API server in
// the same way.
type streamer struct{ node http.Handler }

// newInProcessStreamer returns a streamer that serves logs, exec, attach and port forwarding in this process,
// with the HTTP handler of package server. It serves the pods that the API shows to clients. The handler allows
// every request, because the API has authenticated the client before.
func newInProcessStreamer(b *backend) (*streamer, error) {
	c := b.config
	h, err := server.New(server.Config{
		NodeName: c.NodeName, Health: func() error { return c.Node.Health().Err }, Finder: c.Finder, Authenticator: allowAll{}, Authorizer: allowAll{},
		Logs: c.Logs, Exec: c.Exec, Attach: c.Attach, PortForward: c.PortForward,
		Pods: func() (pods []*v1.Pod) {
			all, _ := b.served["pods"].shownObjectsAndVersion()
			for _, o := range all {
				pods = append(pods, o.(*v1.Pod))
			}
			return pods
		},
	})
	return &streamer{h}, err
}

// serveSubresource forwards a log, exec, attach or portforward request to the kubelet server, and converts an
// error response to a Status. It sends a 404 if clients do not see the pod, and a 405 for an unsupported
// method.
func (s *streamer) serveSubresource(w http.ResponseWriter, r *http.Request, t target) {
	if t.resource.Name != "pods" {
		sendError(w, errNoSuchPath())
		return
	}
	o := t.resource.shownObjectOrNil(t.namespace, t.name)
	if o == nil {
		sendError(w, apierrors.NewNotFound(t.resource.groupResource(), t.name))
		return
	}
	path, query, err := nodeRequestURL(o.(*v1.Pod), t.subresource, r.URL.Query())
	switch {
	case err != nil:
		sendError(w, err)
		return
	case r.Method != http.MethodGet && (r.Method != http.MethodPost || t.subresource == "log"):
		sendError(w, methodNotSupportedError(t.resource, strings.ToLower(r.Method)))
		return
	}
	inner := r.Clone(r.Context())
	inner.URL = &url.URL{Path: path, RawQuery: query.Encode()}
	inner.RequestURI = inner.URL.RequestURI()
	out := &statusWriter{ResponseWriter: w}
	s.node.ServeHTTP(out, inner)
	out.sendStatusOfError()
}

// nodeRequestURL converts a subresource request to the path and query that an API server sends to a kubelet. An
// unknown subresource or container is an error.
func nodeRequestURL(pod *v1.Pod, subresource string, query url.Values) (path string, to url.Values, err error) {
	container := ""
	switch subresource {
	case "log", "exec", "attach":
		if container, err = chooseContainer(pod, query.Get("container")); err != nil {
			return "", nil, err
		}
	case "portforward":
	default:
		refused := errNoSuchPath()
		refused.ErrStatus.Message = fmt.Sprintf("this server does not serve pods/%s", plain.Visible(subresource))
		return "", nil, refused
	}
	of := pod.Namespace + "/" + pod.Name + "/"
	switch subresource {
	case "log":
		query.Del("container")
		return "/containerLogs/" + of + container, query, nil
	case "exec", "attach":
		to = url.Values{"command": query["command"]}
		for from, key := range map[string]string{"stdin": v1.ExecStdinParam, "stdout": v1.ExecStdoutParam, "stderr": v1.ExecStderrParam, "tty": v1.ExecTTYParam} {
			to.Set(key, query.Get(from))
		}
		return "/" + subresource + "/" + of + string(pod.UID) + "/" + container, to, nil
	}
	to = url.Values{}
	if ports := query["ports"]; len(ports) > 0 { // Only a WebSocket with channels needs them.
		to.Set(v1.PortHeader, strings.Join(ports, ","))
	}
	return "/portForward/" + of + string(pod.UID), to, nil
}

// chooseContainer returns name if the pod has a container, init container or ephemeral container with this
// name. An empty name selects the only regular container. If there are several, the error lists the names.
func chooseContainer(pod *v1.Pod, name string) (string, error) {
	var names, init []string
	for c := range podspec.AllAndEphemeralContainers(pod) {
		if c.Name == name {
			return name, nil
		}
	}
	if name != "" {
		return "", apierrors.NewBadRequest(fmt.Sprintf("container %.63s is not valid for pod %s", name, pod.Name))
	}
	for _, c := range pod.Spec.Containers {
		names = append(names, c.Name)
	}
	for _, c := range pod.Spec.InitContainers {
		init = append(init, c.Name)
	}
	if len(names) == 1 {
		return names[0], nil
	}
	why := fmt.Sprintf("a container name must be specified for pod %s, choose one of: %v", pod.Name, names)
	if len(init) > 0 {
		why += fmt.Sprintf(" or one of the init containers: %v", init)
	}
	return "", apierrors.NewBadRequest(why)
}

// statusWriter converts an error response, whose body is plain text, to a Status.
type statusWriter struct {
	http.ResponseWriter
	code    int // of an error response
	message bytes.Buffer
}

// Unwrap makes the inner writer available to http.ResponseController.
func (s *statusWriter) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (s *statusWriter) WriteHeader(code int) {
	if code < http.StatusBadRequest {
		s.ResponseWriter.WriteHeader(code)
		return
	}
	s.code = cmp.Or(s.code, code)
}

// Write implements http.ResponseWriter.
func (s *statusWriter) Write(p []byte) (int, error) {
	if s.code == 0 {
		return s.ResponseWriter.Write(p)
	}
	return s.message.Write(p)
}

// sendStatusOfError sends the error response of the kubelet server, which Write has held back, as a Status. It
// does nothing if the response was no error.
func (s *statusWriter) sendStatusOfError() {
	if s.code == 0 {
		return
	}
	sendJSON(s.ResponseWriter, s.code, metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
		Message: strings.TrimSpace(s.message.String()), Reason: statusReasons[s.code], Code: int32(s.code),
	})
}

// statusReasons are the Status reasons of the HTTP codes that the node handler returns.
var statusReasons = map[int]metav1.StatusReason{
	http.StatusBadRequest: metav1.StatusReasonBadRequest, http.StatusNotFound: metav1.StatusReasonNotFound,
	http.StatusConflict: metav1.StatusReasonConflict, http.StatusUnprocessableEntity: metav1.StatusReasonInvalid,
	http.StatusInternalServerError: metav1.StatusReasonInternalError, http.StatusServiceUnavailable: metav1.StatusReasonServiceUnavailable,
}
