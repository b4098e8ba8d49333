package client

import (
	"context"
	"errors"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	decode "k8s.io/client-go/rest/watch"

	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
)

// stream reads the body of a watch.
type stream[P any] struct {
	pool     *connections
	openedOn *pool // pool of the watch request
	cancel   context.CancelFunc
	decoder  *decode.Decoder
}

// openWatch sends the watch request and sets the decoder of the stream. Canceling ctx closes the response body.
func (s *stream[P]) openWatch(ctx context.Context, r *rest.Request, decoding runtime.ClientNegotiator) error {
	objects, events, framer, err := decoding.StreamDecoder(protobufContentType, nil)
	if err != nil {
		return err
	}
	body, err := r.Stream(ctx)
	if err != nil {
		return err
	}
	s.decoder = decode.NewDecoder(streaming.NewDecoder(framer.NewFrameReader(body), events), objects)
	return nil
}

// Next implements apiserver.Stream. If ctx is done, it cancels the body, perhaps in the middle of an event.
func (s *stream[P]) Next(ctx context.Context) (apiserver.Event[P], error) {
	var none apiserver.Event[P]
	if err := ctx.Err(); err != nil {
		return none, err
	}
	stop := context.AfterFunc(ctx, s.cancel)
	kind, object, err := s.decoder.Decode()
	stop()
	switch {
	case err != nil && ctx.Err() != nil:
		return none, ctx.Err()
	case errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return none, io.EOF
	case err != nil:
		s.pool.replacePoolIfCurrent(s.openedOn)
		return none, err
	case kind == watch.Error:
		return none, apierrors.FromObject(object)
	}
	described, err := meta.Accessor(object)
	if err != nil {
		return none, err
	}
	e := apiserver.Event[P]{Type: apiserver.EventType(kind), ResourceVersion: described.GetResourceVersion()}
	if kind == watch.Bookmark {
		e.InitialEventsEnd = described.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
		return e, nil
	}
	shown, ok := object.(P)
	if !ok {
		return none, apierrors.NewInternalError(errors.New("the server sent an object of another kind"))
	}
	e.Object = shown
	return e, nil
}

// Close implements apiserver.Stream.
func (s *stream[P]) Close() {
	s.cancel()
	if s.decoder != nil {
		s.decoder.Close()
	}
}
