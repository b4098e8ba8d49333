package document_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podkeel/podkeel/internal/document"
)

// Common is embedded in record.
type Common struct {
	Kind string `json:"kind,omitempty"`
}

// own reads itself.
type own string

func (o *own) UnmarshalJSON(text []byte) error {
	*o = "read"
	return json.Unmarshal(text, new([]string))
}

// record has a field of every sort that a manifest can have.
type record struct {
	Common   `json:",inline"`
	Text     string              `json:"text,omitempty"`
	Flag     bool                `json:"flag,omitempty"`
	Small    int8                `json:"small,omitempty"`
	Large    int64               `json:"large,omitempty"`
	Real     float64             `json:"real,omitempty"`
	Amount   *resource.Quantity  `json:"amount,omitempty"`
	Port     *intstr.IntOrString `json:"port,omitempty"`
	When     *metav1.Time        `json:"when,omitempty"`
	Micro    *metav1.MicroTime   `json:"micro,omitempty"`
	Own      own                 `json:"own,omitempty"`
	Data     []byte              `json:"data,omitempty"`
	Items    []record            `json:"items,omitempty"`
	Pointer  *record             `json:"pointer,omitempty"`
	Map      map[string]int      `json:"map,omitempty"`
	Ignored  string              `json:"-"`
	Nameless string
}

// TestStories replays testdata. The input of each command is a file, in which \xNN is a
// byte:
//
//	decode [loose]  each document as a record, its missing fields, and the faults
//	check           the faults of each document as a record
//	canonical       each document in canonical form
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			text := d.Input
			if strings.Contains(text, `\x`) {
				var err error
				text, err = strconv.Unquote("`" + text + "`")
				require.NoError(t, err)
				for i := range 256 {
					text = strings.ReplaceAll(text, fmt.Sprintf(`\x%02x`, i), string([]byte{byte(i)}))
				}
			}
			file, faults := document.Read([]byte(text), bounds)
			file.Loose = d.HasArg("loose")
			var out strings.Builder
			for _, doc := range file.Documents {
				var more document.Faults
				switch d.Cmd {
				case "decode":
					var r record
					var missing []*document.Path
					missing, more = file.Decode(doc, &r)
					text, err := json.Marshal(r)
					require.NoError(t, err)
					fmt.Fprintln(&out, string(text))
					for _, m := range missing {
						fmt.Fprintf(&out, "missing %q\n", m)
					}
				case "check":
					more = file.Check(doc, reflect.TypeFor[record]())
				case "canonical":
					fmt.Fprintf(&out, "line %d, %s: %s\n", doc.Line, doc.Describe(), doc.AppendJSON(nil))
				}
				faults = append(faults, more...)
			}
			if len(faults) > 0 {
				fmt.Fprintln(&out, faults.InOrder())
			}
			return out.String()
		})
	})
}
