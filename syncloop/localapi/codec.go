package localapi

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	protobufserializer "k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/runtime/serializer/recognizer"

	"github.com/podkeel/podkeel/internal/podfields"
)

// codec decodes the bodies of requests, in JSON, YAML or protobuf. The lenient decoder ignores unknown fields.
// convertYAML converts YAML first, because it bounds YAML aliases and the decoders do not.
type codec struct{ strict, lenient k8sruntime.Decoder }

func newCodec() (*codec, error) {
	scheme := k8sruntime.NewScheme()
	if err := errors.Join(v1.AddToScheme(scheme), authenticationv1.AddToScheme(scheme), authorizationv1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	scheme.AddKnownTypeWithName(evictionKind, &policyv1.Eviction{})
	decoder := func(strict bool) k8sruntime.Decoder {
		return recognizer.NewDecoder(
			json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{Strict: strict}),
			protobufserializer.NewSerializer(scheme, scheme),
		)
	}
	return &codec{strict: decoder(true), lenient: decoder(false)}, nil
}

// decode decodes a JSON, YAML or protobuf body into an object of this kind. Unknown and duplicate fields are
// errors only if strict is set, but a pod field that is too new for this code is always an error. The error has
// code 413 if the body exceeds a bound, and code 400 for each other fault.
func (c *codec) decode(body []byte, strict bool, kind schema.GroupVersionKind, into k8sruntime.Object) error {
	body, duplicates, err := convertYAML(body)
	if err != nil {
		return err
	}
	if err := checkBodyBounds(body, into); err != nil {
		return err
	}
	decoder := c.lenient
	if strict {
		decoder = c.strict
		if len(duplicates) > 0 {
			return apierrors.NewBadRequest(kind.Kind + " in version \"" + kind.Version + "\" cannot be handled as a " + kind.Kind + ": strict decoding error: " + duplicates.InOrder().Error())
		}
	}
	var unread error // the error of a pod that cannot be searched for newer fields
	if kind == podKind {
		var newer []podfields.Found
		newer, unread = podfields.FindInPod(body)
		// A lenient client gets the error too: without the field the pod could do more than its author allows.
		if err := newerFieldsError(newer); err != nil {
			return err
		}
	}
	_, found, err := decoder.Decode(body, &kind, into)
	switch {
	case err != nil && k8sruntime.IsStrictDecodingError(err):
		return apierrors.NewBadRequest(kind.Kind + " in version \"" + kind.Version + "\" cannot be handled as a " + kind.Kind + ": " + err.Error())
	case err != nil:
		return apierrors.NewBadRequest("the body cannot be read as a " + kind.Kind + ": " + err.Error())
	case *found != kind:
		return apierrors.NewBadRequest("the body is a " + found.Kind + ": expected a " + kind.Kind)
	case unread != nil:
		return apierrors.NewBadRequest("the body cannot be read as a " + kind.Kind + ": " + unread.Error())
	}
	if pod, ok := into.(*v1.Pod); ok {
		return newerFieldsError(unhandledFields(pod))
	}
	return nil
}

// unhandledFields lists the set fields of a decoded pod that this code does not handle. The decoder can know
// more fields than this code, because it is compiled with a newer k8s.io/api.
func unhandledFields(pod *v1.Pod) []podfields.Found {
	var all []podfields.Found
	for _, path := range podfields.Unknown(pod) {
		since, _ := podfields.Newer(path)
		all = append(all, podfields.Found{Path: path, Since: since})
	}
	return all
}

// newerFieldsError returns an error with code 400 that lists the fields, or nil if there are none.
func newerFieldsError(found []podfields.Found) error {
	if len(found) == 0 {
		return nil
	}
	all := make([]string, len(found))
	for i, f := range found {
		all[i] = f.String()
	}
	return apierrors.NewBadRequest("Pod in version \"v1\" cannot be handled as a Pod: " + strings.Join(all, "; "))
}

// readBody reads the body of a request. The error has code 413 if the body is longer than maxBodyBytes, and 400
// if it cannot be read.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	tooLarge := (*http.MaxBytesError)(nil)
	switch {
	case errors.As(err, &tooLarge):
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", maxBodyBytes))
	case err != nil:
		return nil, apierrors.NewBadRequest("the body cannot be read")
	}
	return text, nil
}
