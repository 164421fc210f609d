// Every message of read_samples.
#include "coterie/io/table.hpp"
#include "coterie/io/test_files.hpp"

namespace coterie {
namespace {

class TableErrors : public FilesTest {
 protected:
  std::string csv(const std::string& text, const TableOptions& options = {}) const {
    return message([&] { read_samples({write("a.csv", text)}, options); });
  }
  std::string svm(const std::string& text, const TableOptions& options = {}) const {
    return message([&] { read_samples({write("a.svm", text)}, options); });
  }
  std::string both(const std::string& a, const std::string& b,
                   const TableOptions& options = {}) const {
    return message([&] { read_samples({write("a.csv", a), write("b.csv", b)}, options); });
  }
};

TEST_F(TableErrors, Numbers) {
  EXPECT_EQ(csv("f1,f2,label\n1,2,x\n3,abc,y\n"),
            "a.csv:3:3: column 'f2' holds 'abc', which is not a number. Correct it, or leave the "
            "column out with "
            "`drop` f2.");
  EXPECT_EQ(csv("f1,f2,label\n1,,x\n"),
            "a.csv:2:3: column 'f2' is empty; every value must be a number. Correct it, or leave "
            "the column out with "
            "`drop` f2.");
  for (const char* word : {"nan", "NaN", "inf", "-Infinity"}) {
    EXPECT_EQ(csv(std::string("f1,label\n") + word + ",x\n"),
              std::string("a.csv:2:1: column 'f1' holds '") + word +
                  "'; every value must be a finite number. Correct it, or leave the column out "
                  "with `drop` f1.");
  }
  EXPECT_EQ(csv("f1,label\n1e999,x\n"),
            "a.csv:2:1: column 'f1' holds '1e999', which is outside the range of double precision. "
            "Correct it, or "
            "leave the column out with `drop` f1.");
  EXPECT_EQ(csv("label,f1\nx,1.5.2\n"),
            "a.csv:2:3: column 'f1' holds '1.5.2', which is not a number. Correct it, or leave the "
            "column out with "
            "`drop` f1.");
  EXPECT_EQ(csv("label,f1\nx,0x10\n"),
            "a.csv:2:3: column 'f1' holds '0x10', which is not a number. Correct it, or leave the "
            "column out with "
            "`drop` f1.");
}

// Tables of 1 MB at most. Of every format, a table that has a little less is read, and one with more is refused wherever it breaks the limit.
class TableMemory : public TableErrors {
 protected:
  static constexpr double memory = 1e6;
  static std::string repeated(const std::string& text, std::size_t count) {
    std::string all;
    for (std::size_t k = 0; k < count; ++k) all += text;
    return all;
  }
  std::string read(const std::string& path, TableOptions options = {}) const {
    options.memory = memory;
    return message([&] { read_samples({path}, options); });
  }
  static constexpr const char* too_large =
      "a table of more than 0.001 GB, which is the most memory that it may take. Use fewer rows or "
      "columns, or allow more memory.";
};

TEST_F(TableMemory, OfCsv) {
  const std::string header = "f1,f2,label\n";  // 8 (2 + 4) bytes a row: 20,833 of them
  const std::string rows = repeated("1,2,x\n3,4,y\n", 10'000);
  EXPECT_EQ(read(write("a.csv", header + rows)), "no error");
  EXPECT_EQ(read(write_gzip("a.csv.gz", header + rows)), "no error");
  EXPECT_EQ(read(write("a.csv", header + rows + rows)), std::string("a.csv: this is ") + too_large);
  EXPECT_EQ(read(write_gzip("a.csv.gz", header + rows + rows)),
            std::string("a.csv.gz: this unpacks to ") + too_large);
  // Names take more than numbers: here 208 bytes each, or 300 in a header.
  std::string names;
  for (int k = 0; k < 5000; ++k) names += "1,2,c" + std::to_string(k) + "\n";
  EXPECT_EQ(read(write_gzip("a.csv.gz", header + names)),
            std::string("a.csv.gz: this unpacks to ") + too_large);
  std::string wide = "label";
  for (int k = 0; k < 4000; ++k) wide += ",f" + std::to_string(k);
  EXPECT_EQ(read(write("a.csv", wide + "\n")), std::string("a.csv: this is ") + too_large);
  // Files count together.
  EXPECT_EQ(message([&] {
              read_samples({write("a.csv", header + rows), write_gzip("b.csv.gz", header + rows)},
                           {.memory = memory});
            }),
            std::string("b.csv.gz: this unpacks to ") + too_large);
  EXPECT_EQ(message([&] {
              read_samples({path("a.csv"), path("b.csv.gz")}, {.memory = 2e6});
            }),
            "no error");
}

TEST_F(TableMemory, OfLibsvm) {
  const std::string rows = repeated("1 1:1 2:2\n2 1:3 3:4\n", 8'000);  // 8 (3 + 4) bytes a row
  EXPECT_EQ(read(write_gzip("a.svm.gz", rows)), "no error");
  EXPECT_EQ(read(write_gzip("a.svm.gz", rows + rows)),
            std::string("a.svm.gz: this unpacks to ") + too_large);
  EXPECT_EQ(read(write("a.svm", rows + rows)), std::string("a.svm: this is ") + too_large);
  EXPECT_EQ(read(path("a.svm"), {.drop = {"f2"}}), std::string("a.svm: this is ") + too_large);
  EXPECT_EQ(
      read(write_gzip("a.svm.gz", rows + rows.substr(0, rows.size() / 5)), {.features = {"f3"}}),
      "no error");
  std::string labels;
  for (int k = 0; k < 5000; ++k) labels += std::to_string(k) + " 1:1\n";
  EXPECT_EQ(read(write("a.svm", labels)), std::string("a.svm: this is ") + too_large);
}

TEST_F(TableMemory, OfIdx) {
  const std::string shape("\0\0\x08\x03\0\0\x10\0\0\0\0\x0a\0\0\0\x0a", 16);  // 4096 x 10 x 10
  const std::string labels("\0\0\x08\x01\0\0\x10\0", 8);
  write("a-labels.idx", labels + std::string(4096, '\1'));
  EXPECT_EQ(read(write_gzip("a.idx.gz", shape + std::string(409'600, '\0'))),
            std::string("a.idx.gz: this unpacks to ") + too_large);
  EXPECT_EQ(message([&] { read_samples({path("a.idx.gz")}, {.memory = 4e6}); }), "no error");
}

TEST_F(TableMemory, OfTextThatMakesNoRows) {
  const std::string advice =
      ": this unpacks to more than 0.001 GB, over 200 times its size. Check that it is a table; if "
      "it is, unpack it first.";
  const std::string comments(4'000'000, '#');
  const std::string blank(4'000'000, '\n');
  EXPECT_EQ(read(write_gzip("a.csv.gz", "f1,label\n1,x\n2,y\n" + blank)), "a.csv.gz" + advice);
  EXPECT_EQ(read(write_gzip("a.svm.gz", "1 1:1\n" + repeated("# no\n", 1'000'000))),
            "a.svm.gz" + advice);
  EXPECT_EQ(read(write("a.csv", "f1,label\n1,x\n2,y\n" + blank)), "no error");
  EXPECT_EQ(read(write("b.svm", "1 1:1\n2 1:2\n" + comments)),
            "b.svm: line 3 has no end within its first 1 MB. Check that this is a table, with line "
            "ends.");
}

TEST_F(TableErrors, ShowLittleAndPrintable) {
  const std::string correct = "orrect it, or leave the column out with `drop` f1.";
  const std::string advice =
      ", which is not a number. If it says which task a row belongs to, name it with `task` f1; "
      "else c" +
      correct;
  EXPECT_EQ(csv("label,f1\nx," + std::string(1000, 'q') + "\n"),
            "a.csv:2:3: column 'f1' holds '" + std::string(40, 'q') + "...'" + advice);
  EXPECT_EQ(csv("label,f1\nx,a\x1b[31m\xff\n"),
            "a.csv:2:3: column 'f1' holds 'a\\x1b[31m\\xff'" + advice);
  EXPECT_EQ(csv("label,f1\nµ,µ\n"),
            "a.csv:2:3: column 'f1' holds 'µ'" + advice);  // µ counts as one character
  std::string text = "label,f1\nx,1\n";
  for (int i = 0; i < 3000; ++i) text += "x,2\n";
  EXPECT_EQ(csv(text + std::string("x,3\0\n", 5)),
            "a.csv:3003:3: column 'f1' holds '3\\x00', which is not a number. C" + correct);
}

TEST_F(TableErrors, Rows) {
  EXPECT_EQ(csv("f1,f2,label\n1,x\n"),
            "a.csv:2:3: 2 fields, but the header has 3. Give every row the same number of fields.");
  EXPECT_EQ(csv("f1,f2,label\n1,2,a\n1,x,a\n"),
            "a.csv:3:3: column 'f2' holds 'x', which is not a number. Correct it, or leave the "
            "column out with "
            "`drop` f2.");
  EXPECT_EQ(csv("f1,f2,label\n1,2\n"),
            "a.csv:2:4: 2 fields, but the header has 3. Give every row the same number of fields.");
  EXPECT_EQ(csv("f1,f2,label\n1,2,x,4,5\n"),
            "a.csv:2:6: 5 fields, but the header has 3. Give every row the same number of fields.");
  EXPECT_EQ(csv("f1,label\n1,x\n\n2,y\n"),
            "a.csv:4:1: the line before is blank. Remove blank lines between rows.");
  EXPECT_EQ(csv("f1,label\n1,\n"),
            "a.csv:2:3: column 'label' is empty. Every row needs a label, as UTF-8 text.");
  EXPECT_EQ(csv("f1,label,task\n1,x,\"\"\n"),
            "a.csv:2:5: column 'task' is empty. Every row needs a task name, as UTF-8 text.");
  EXPECT_EQ(csv("f1,label\n1,caf\xe9\n"),
            "a.csv:2:3: column 'label' holds 'caf\\xe9', which is not UTF-8 text. Every row needs "
            "a label, as UTF-8 "
            "text.");
  EXPECT_EQ(csv("f1,label\n1,a\x01\n"),
            "a.csv:2:3: column 'label' holds 'a\\x01', which has a control character. Every row "
            "needs a label, as "
            "UTF-8 text.");
  EXPECT_EQ(csv("f1,label\n1,\"x\n"),
            "a.csv:2:3: the quote opened here is not closed on this line. Close it; a field cannot "
            "hold a line end.");
  EXPECT_EQ(csv("f1,label\n1,\"x\"y\n"),
            "a.csv:2:6: text follows a closing quote. Write quotes inside a field twice (\"\").");
}

// Advice is what the user can do.
TEST_F(TableErrors, WhatToDoWithAColumnOfWords) {
  const std::string site = "a.csv:2:3: column 'site' holds 'north', which is not a number. ";
  EXPECT_EQ(csv("f1,site,label\n1,north,x\n"),
            site +
                "If it says which task a row belongs to, name it with `task` site; else correct "
                "it, or leave the column out with `drop` site.");
  EXPECT_EQ(csv("f1,site,label,task\n1,north,x,a\n"),
            site + "Correct it, or leave the column out with `drop` site.");
  EXPECT_EQ(csv("f1,site,label,ward\n1,north,x,a\n", {.task = "ward"}),
            site + "Correct it, or leave the column out with `drop` site.");
  EXPECT_EQ(csv("f1,site,label\n1,north,x\n", {.features = {"f1", "site"}}),
            site + "Correct it, or take site out of `features`.");
  EXPECT_EQ(csv("f1,f2,label\n1,nan,x\n"),
            "a.csv:2:3: column 'f2' holds 'nan'; every value must be a finite number. Correct it, "
            "or leave the column out with `drop` f2.");
}

TEST_F(TableErrors, ArchivesOfNumpy) {
  EXPECT_EQ(message([&] { read_samples({write("D.npz", "PK\x03\x04xxx")}); }),
            "D.npz: this is an .npz archive. Save its arrays one by one, with numpy.save: "
            "features as X.npy, labels as X-labels.npy, and tasks, if there are any, as "
            "X-tasks.npy.");
}

TEST_F(TableErrors, Headers) {
  EXPECT_EQ(csv(""), "a.csv: the file is empty. It needs a header and rows of data.");
  EXPECT_EQ(csv("f1,label\n"), "a.csv: there is a header but no row of data.");
  EXPECT_EQ(csv("f1,f1,label\n"), "a.csv:1:4: two columns are called 'f1'. Rename one of them.");
  EXPECT_EQ(csv(",f1,label\n"),
            "a.csv:1:1: the name of column 1 is empty. The first line must name every column, as "
            "UTF-8 text.");
  EXPECT_EQ(csv("f1,f2\n1,2\n"),
            "a.csv: no column is called 'label'; say with `label` which column holds the labels; "
            "the columns are f1, f2.");
  EXPECT_EQ(csv("1,2\n3,4\n"),
            "a.csv: no column is called 'label'; say with `label` which column holds the labels; "
            "the columns are 1, 2. The "
            "first line must name "
            "the columns.");
  EXPECT_EQ(csv("f1;label\n1;x\n"),
            "a.csv: no column is called 'label'; say with `label` which column holds the labels; "
            "the columns are f1;label. "
            "Separate the fields "
            "with commas or tabs, not ';'.");
  EXPECT_EQ(csv("a,b,c,d,e,f,g,h,i,label\n", {.drop = {"id"}}),
            "a.csv: no column is called 'id', which `drop` asks for; the columns are a, b, c, d, "
            "e, f, g, h, ... (10 in "
            "all).");
  EXPECT_EQ(
      csv("f1,label\n", {.features = {"f2"}}),
      "a.csv: no column is called 'f2', which `features` asks for; the columns are f1, label.");
  EXPECT_EQ(csv("f1,label\n", {.task = "site"}),
            "a.csv: no column is called 'site', which `task` asks for; the columns are f1, label.");
  EXPECT_EQ(csv("f1,label\n", {.drop = {"label"}}),
            "column 'label' holds the labels, but `drop` names it. Take it out of `drop`.");
  EXPECT_EQ(csv("f1,label\n", {.features = {"label"}}),
            "`features` names column 'label', which is the label or dropped as well. Take it out "
            "of one place.");
  EXPECT_EQ(csv("f1,label\n", {.features = {"f1", "f1"}}),
            "`features` names column 'f1', which is there twice. Take it out of one place.");
  EXPECT_EQ(csv("label,task\nx,s\n"), "a.csv: no column is left for the features.");
}

TEST_F(TableErrors, Files) {
  EXPECT_EQ(message([] { read_samples({}); }), "no data file is given. Name at least one.");
  EXPECT_EQ(message([&] { read_samples({path("none.csv")}); }),
            "none.csv: there is no such file. Check the name and the folder.");
  EXPECT_EQ(message([&] { read_samples({path("none.svm:task")}); }),
            "none.svm:task: there is no such file. Check the name and the folder.");
  std::filesystem::create_directory(path("folder"));
  EXPECT_EQ(message([&] { read_samples({path("folder")}); }),
            "folder: this is a folder. Name the files in it.");
  EXPECT_EQ(csv(std::string("f1,\0label", 9)),
            "a.csv: this is not text: it has NUL bytes. Give a CSV, TSV or LIBSVM file, plain or "
            "gzip, or a MATLAB or IDX file by its usual name.");
  EXPECT_EQ(csv("PK\x03\x04xxx"), "a.csv: this is a zip archive or spreadsheet; export it as CSV.");
  EXPECT_EQ(csv("PAR1\x15\x04"), "a.csv: this is a Parquet file; export it as CSV.");
  EXPECT_EQ(csv("\xff\xfe"
                "f1"),
            "a.csv: this is UTF-16 text; save it as UTF-8.");
  const std::string csv_text = "f1,label\n1,x\n", svm_text = "1 1:1\n";
  EXPECT_EQ(message([&] {
              read_samples({write("a.csv", csv_text), write("b.svm", svm_text)});
            }),
            "a.csv and b.svm are of different formats (CSV and LIBSVM). Give files of one format.");
}

TEST_F(TableErrors, Gzip) {
  std::string text = "f1,label\n";
  for (int i = 0; i < 1000; ++i) text += std::to_string(i * i) + ",x\n";
  const std::string whole = contents(write_gzip("a.csv.gz", text));
  const auto read = [&](const std::string& bytes) {
    return message([&] { read_samples({write("a.csv.gz", bytes)}); });
  };
  EXPECT_EQ(read(whole), "no error");
  for (const std::size_t length :
       {std::size_t{2}, std::size_t{9}, whole.size() / 2, whole.size() - 1}) {
    EXPECT_EQ(read(whole.substr(0, length)),
              "a.csv.gz: the gzip file ends too early. It was cut off; get a whole copy.")
        << length;
  }
  std::string damaged = whole;
  damaged[whole.size() - 6] = static_cast<char>(damaged[whole.size() - 6] ^ 1);  // in the checksum
  EXPECT_EQ(read(damaged), "a.csv.gz: the gzip file is damaged. Get a new copy.");
}

TEST_F(TableErrors, SeveralFiles) {
  EXPECT_EQ(both("f1,f2,label\n1,2,x\n", "f1,label\n1,x\n"),
            "b.csv: column 'f2' is missing, which a.csv has. All files need the same columns.");
  EXPECT_EQ(both("f1,label\n1,x\n", "f1,f2,label\n1,2,x\n"),
            "b.csv:1:4: column 'f2' is not in a.csv. All files need the same columns.");
  EXPECT_EQ(both("f1,label,task\n1,x,s\n", "f1,label\n1,x\n"),
            "a.csv has a column 'task' but b.csv has none. All files need the same columns.");
  EXPECT_EQ(both("f1\n1\n", "f1,label\n1,x\n", {.label_required = false}),
            "b.csv has a column 'label' but a.csv has none. All files need the same columns.");
  std::filesystem::create_directory(path("more"));
  const std::string text = "f1,label\n1,x\n";
  EXPECT_EQ(message([&] {
              read_samples({write("a.csv", text), write("more/a.csv", text)});
            }),
            "a.csv and more/a.csv would both be task 'a'. Name their tasks, as in more/a.csv:name, "
            "or give them a task "
            "column.");
  EXPECT_EQ(message([&] { read_samples({write("a.csv", "f1,label,task\n1,x,s\n") + ":t"}); }),
            "a.csv: task 't' is given for the file, but its column 'task' names tasks too. Leave "
            "out one of them.");
}

TEST_F(TableErrors, Libsvm) {
  EXPECT_EQ(svm("1 1:1\n1 9:1 5:2\n"),
            "a.svm:2:7: feature index 5 follows 9; indices must increase along a line. Sort this "
            "line's features.");
  EXPECT_EQ(svm("1 2:1 2:2\n"),
            "a.svm:1:7: feature index 2 follows 2; indices must increase along a line. Sort this "
            "line's features.");
  EXPECT_EQ(svm("1 0:1\n"),
            "a.svm:1:3: feature index 0; indices count from 1. Add 1 to all of them.");
  EXPECT_EQ(svm("1 -3:1\n"),
            "a.svm:1:3: feature index -3; indices count from 1. Add 1 to all of them.");
  EXPECT_EQ(svm("1 1:1 10000001:1\n"),
            "a.svm:1:7: feature index '10000001' is above 10000000, the largest allowed. Renumber "
            "the features.");
  EXPECT_EQ(svm("1 1:1 99999999999999999999:1\n"),
            "a.svm:1:7: feature index '99999999999999999999' is above 10000000, the largest "
            "allowed. Renumber the "
            "features.");
  EXPECT_EQ(svm("1 qid:3 1:1\n"),
            "a.svm:1:3: 'qid:' marks ranking data, which cannot be used here. Remove these words.");
  EXPECT_EQ(svm("1 1:1 2\n"),
            "a.svm:1:7: found '2' where a pair index:value should be. Correct it.");
  EXPECT_EQ(svm("1 1:1 a:2\n"),
            "a.svm:1:7: found 'a:2' where a pair index:value should be. Correct it.");
  EXPECT_EQ(svm("1 1:1 2:\n"),
            "a.svm:1:9: feature 2 is empty; every value must be a number. Correct it.");
  EXPECT_EQ(svm("1 1:x\n"), "a.svm:1:5: feature 1 holds 'x', which is not a number. Correct it.");
  EXPECT_EQ(svm("1 1:nan\n"),
            "a.svm:1:5: feature 1 holds 'nan'; every value must be a finite number. Correct it.");
  EXPECT_EQ(svm("1:1 2:1\n"),
            "a.svm:1:1: found '1:1' where the label should be. Start the line with a label (0 if "
            "unknown).");
  EXPECT_EQ(svm("1,2 1:1\n"),
            "a.svm:1:1: found several labels, '1,2'. Give each sample one label.");
  EXPECT_EQ(svm(""), "a.svm: the file has no samples.");
  EXPECT_EQ(svm("# nothing\n"), "a.svm: the file has no samples.");
  EXPECT_EQ(svm("1\n-1\n"), "a.svm: there are no features.");
  EXPECT_EQ(svm("1 1:1\n", {.task = "site"}),
            "a.svm: a LIBSVM file has no task column 'site'. Name the task as in a.svm:name.");
  EXPECT_EQ(svm("1 1:1\n", {.drop = {"id"}}),
            "a.svm: `drop` names 'id'; a LIBSVM file has columns f1, f2, ... for its indices.");
  EXPECT_EQ(svm("1 1:1\n", {.features = {"f1", "f1"}}),
            "`features` names column 'f1', which is there twice. Take it out of one place.");
  std::string many;
  for (int i = 0; i < 1001; ++i) many += "1 10000000:1\n";
  EXPECT_EQ(svm(many),
            "a.svm: 1001 samples of 10000000 features are too many for a dense matrix from this "
            "file (1.31e+08 entries at most). Choose features with `features`.");
  EXPECT_EQ(svm("1 10000000:1\n"),  // else 13 bytes would take half a gigabyte
            "a.svm: 1 samples of 10000000 features are too many for a dense matrix from this file "
            "(1.13e+06 entries at most). Choose features with `features`.");
  EXPECT_EQ(svm("1 10000000:1\n", {.features = {"f2", "f10000000"}}), "no error");
}

}  // namespace
}  // namespace coterie
