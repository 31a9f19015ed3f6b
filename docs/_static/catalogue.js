// A search box above each table of the catalogue: a row is shown while every word stands in it.
for (const label of document.querySelectorAll(".catalogue-search")) {
  const rows = [...label.parentElement.querySelectorAll("table.catalogue tbody tr")]
    .filter((row) => label.compareDocumentPosition(row) & Node.DOCUMENT_POSITION_FOLLOWING)
    .filter((row) => row.closest("table").previousElementSibling === label);
  label.querySelector("input").addEventListener("input", (event) => {
    const words = event.target.value.toLowerCase().split(/\s+/);
    for (const row of rows) {
      row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
    }
  });
}
