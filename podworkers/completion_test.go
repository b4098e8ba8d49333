package podworkers_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"github.com/podkeel/podkeel/podworkers"
)

// Only the first result counts. A follower gets the same result, whether it follows before or
// after.
func TestCompletion_FirstResultCounts(t *testing.T) {
	first := errors.New("first")
	kill := podworkers.NewCompletion(nil)
	early, late := podworkers.NewCompletion(nil), podworkers.NewCompletion(nil)
	early.Follow(kill)
	assert.NoError(t, early.Err(), "it is not resolved")
	kill.Resolve(first)
	kill.Resolve(nil)
	late.Follow(kill)
	for _, c := range []*podworkers.Completion{kill, early, late} {
		<-c.Done()
		assert.Same(t, first, c.Err())
		assert.Same(t, first, c.Wait(t.Context()))
	}
	own := podworkers.NewCompletion(nil)
	own.Resolve(nil)
	own.Follow(kill)
	assert.NoError(t, own.Err(), "it was resolved before")
}

// Any number of goroutines that wait for a handle get the same result.
func TestCompletion_Concurrently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kill, results := podworkers.NewCompletion(nil), make(chan error, 8)
		for range 4 {
			go func() { results <- kill.Wait(t.Context()) }()
			go func() {
				c := podworkers.NewCompletion(nil)
				c.Follow(kill)
				results <- c.Wait(t.Context())
			}()
		}
		synctest.Wait()
		want := errors.New("either")
		go kill.Resolve(want)
		go kill.Resolve(want)
		for range 8 {
			assert.Same(t, want, <-results)
		}
	})
}
