package figure_test

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/internal/figure"
)

// TestString_Escapes: a figure is well-formed XML for any text.
func TestString_Escapes(t *testing.T) {
	f := figure.New(100, 50, `<a> & "b"`, figure.Paper)
	f.DrawText(1, 2, figure.Ink, "]]> <script>\x01", figure.Mono)
	f.DrawArrow(figure.Dim, figure.Point{X: 1, Y: 2}, figure.Point{X: 3, Y: 4})
	var text strings.Builder
	for d := xml.NewDecoder(strings.NewReader(f.String())); ; {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		if chars, ok := token.(xml.CharData); ok {
			text.Write(chars)
		}
	}
	assert.Equal(t, []string{`<a>`, `&`, `"b"`, "]]>", "<script>\ufffd"}, strings.Fields(text.String()))
}
