package contact_test

import (
	"errors"
	"fmt"

	"github.com/podkeel/podkeel/syncloop/cluster/contact"
)

// The first answer of any loop wakes all others.
func ExampleNew() {
	c := contact.New(contact.Config{})
	stop := c.OnOutageEnd(func() { fmt.Println("the server answers again") })
	defer stop()

	c.Report(errors.New("connection refused"))
	fmt.Println(c.State().Available)
	c.Report(nil)
	fmt.Println(c.State().Available)
	// Output:
	// false
	// the server answers again
	// true
}
